//===- FaultyCalls.cpp - system calls that fail on demand -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A library to preload (LD_PRELOAD) into a program. It counts the program's
// calls of several kinds, and makes some of them fail. A file that a test and
// the program map, SLUICE_FAULTS_FILE, controls it by 64-bit numbers:
//
//   [0]      the kind whose calls fail (below), from 1 on; 0: none
//   [1]      the first call that fails, counted from 0
//   [2]      how many calls one after another fail
//   [3]      calls that have failed
//   [3 + n]  calls of kind n so far
//   [12]     seconds by which the clock of the day is wrong
//
// A test resets a counter to start again while the program runs. With
// SLUICE_FAULTS_SHOW, the stack addresses of each failing call, and of a crash,
// are written to standard error.
//
//===----------------------------------------------------------------------===//

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

extern "C" {
// glibc's own function, which needs no lookup.
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *memory, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);
}

namespace {

enum Kind : int64_t {
  Allocate = 1,
  Thread,     ///< starting a thread
  Descriptor, ///< opening, copying or watching a descriptor
  Write,      ///< writing, enlarging or naming a file
  Map,        ///< mapping a file or memory, or advice about it
  Connect,
  Send,    ///< sending to a socket
  Receive, ///< receiving from a socket
  kinds
};

struct Control {
  std::atomic<int64_t> kind, first, count, failed;
  std::atomic<int64_t> calls[kinds - 1]; ///< [kind - 1]
  std::atomic<int64_t> clockSeconds;
};
static_assert(offsetof(Control, clockSeconds) == 12 * sizeof(int64_t));

/// Null if the program was started without SLUICE_FAULTS_FILE.
Control *control = nullptr;
bool isShown = false; ///< whether to show failing calls

/// Shows where the call was made; `addr2line -e PROGRAM -f -C -i` reads it.
void show() {
  constexpr int max = 40;
  void *calls[max];
  ::backtrace_symbols_fd(calls, ::backtrace(calls, max), STDERR_FILENO);
}

/// Runs before main(), and before libraries that are loaded later.
__attribute__((constructor)) void mapControl() {
  isShown = std::getenv("SLUICE_FAULTS_SHOW");
  if (isShown) {
    void *first = nullptr;
    ::backtrace(&first, 1); // loads what it needs
    for (int end : {SIGABRT, SIGSEGV})
      std::signal(end, [](int number) {
        show();
        std::signal(number, SIG_DFL);
        ::raise(number);
      });
  }
  const char *path = std::getenv("SLUICE_FAULTS_FILE");
  int file =
      path ? static_cast<int>(::openat(AT_FDCWD, path, O_RDWR | O_CLOEXEC))
           : -1;
  if (file < 0)
    return;
  void *mapped = ::mmap(nullptr, sizeof(Control), PROT_READ | PROT_WRITE,
                        MAP_SHARED, file, 0);
  ::close(file);
  if (mapped != MAP_FAILED)
    control = static_cast<Control *>(mapped);
}

/// Counts a call. Returns whether it must fail; sets errno to `error` then.
bool fails(Kind kind, int error) {
  if (!control)
    return false;
  const int64_t number = control->calls[kind - 1].fetch_add(1);
  if (control->kind.load() != kind || number < control->first.load() ||
      number - control->first.load() >= control->count.load())
    return false;
  control->failed.fetch_add(1);
  if (isShown)
    show();
  errno = error;
  return true;
}

/// Returns the function that this library replaces.
template <typename Function> Function *next(const char *name) {
  return reinterpret_cast<Function *>(::dlsym(RTLD_NEXT, name));
}

} // namespace

// Calls the replaced function: NEXT(open)(path, flags).
#define NEXT(function)                                                         \
  ([] {                                                                        \
    static auto *const found = next<decltype(function)>(#function);            \
    return found;                                                              \
  }())

extern "C" {

void *malloc(size_t bytes) {
  return fails(Allocate, ENOMEM) ? nullptr : __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes) {
  return fails(Allocate, ENOMEM) ? nullptr : __libc_calloc(count, bytes);
}

void *realloc(void *memory, size_t bytes) {
  return fails(Allocate, ENOMEM) ? nullptr : __libc_realloc(memory, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes) {
  return fails(Allocate, ENOMEM) ? nullptr : __libc_memalign(alignment, bytes);
}

int posix_memalign(void **memory, size_t alignment, size_t bytes) {
  if (fails(Allocate, ENOMEM))
    return ENOMEM;
  *memory = __libc_memalign(alignment, bytes);
  return *memory ? 0 : ENOMEM;
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                   void *(*body)(void *), void *argument) {
  if (fails(Thread, EAGAIN))
    return EAGAIN;
  return NEXT(pthread_create)(thread, attributes, body, argument);
}

int open(const char *path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = va_arg(more, mode_t);
  va_end(more);
  return fails(Descriptor, EMFILE) ? -1 : NEXT(open)(path, flags, mode);
}

int openat(int folder, const char *path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = va_arg(more, mode_t);
  va_end(more);
  return fails(Descriptor, EMFILE) ? -1
                                   : NEXT(openat)(folder, path, flags, mode);
}

int socket(int domain, int type, int protocol) {
  return fails(Descriptor, EMFILE) ? -1 : NEXT(socket)(domain, type, protocol);
}

int accept(int listener, sockaddr *address, socklen_t *bytes) {
  return fails(Descriptor, EMFILE) ? -1
                                   : NEXT(accept)(listener, address, bytes);
}

int accept4(int listener, sockaddr *address, socklen_t *bytes, int flags) {
  return fails(Descriptor, EMFILE)
             ? -1
             : NEXT(accept4)(listener, address, bytes, flags);
}

int pipe2(int ends[2], int flags) {
  return fails(Descriptor, EMFILE) ? -1 : NEXT(pipe2)(ends, flags);
}

int eventfd(unsigned value, int flags) {
  return fails(Descriptor, EMFILE) ? -1 : NEXT(eventfd)(value, flags);
}

int epoll_create1(int flags) {
  return fails(Descriptor, EMFILE) ? -1 : NEXT(epoll_create1)(flags);
}

int epoll_ctl(int queue, int operation, int file, epoll_event *event) {
  return operation == EPOLL_CTL_ADD && fails(Descriptor, ENOSPC)
             ? -1
             : NEXT(epoll_ctl)(queue, operation, file, event);
}

int mkostemp(char *path, int flags) {
  return fails(Descriptor, EMFILE) ? -1 : NEXT(mkostemp)(path, flags);
}

int dup(int file) { return fails(Descriptor, EMFILE) ? -1 : NEXT(dup)(file); }

int fcntl(int file, int operation, ...) {
  va_list more;
  va_start(more, operation);
  void *argument = va_arg(more, void *);
  va_end(more);
  const bool copies = operation == F_DUPFD || operation == F_DUPFD_CLOEXEC;
  return copies && fails(Descriptor, EMFILE)
             ? -1
             : NEXT(fcntl)(file, operation, argument);
}

ssize_t write(int file, const void *bytes, size_t count) {
  return fails(Write, ENOSPC) ? -1 : NEXT(write)(file, bytes, count);
}

ssize_t pwrite(int file, const void *bytes, size_t count, off_t at) {
  return fails(Write, ENOSPC) ? -1 : NEXT(pwrite)(file, bytes, count, at);
}

ssize_t writev(int file, const iovec *parts, int count) {
  return fails(Write, ENOSPC) ? -1 : NEXT(writev)(file, parts, count);
}

int ftruncate(int file, off_t bytes) {
  return fails(Write, ENOSPC) ? -1 : NEXT(ftruncate)(file, bytes);
}

int fallocate(int file, int mode, off_t at, off_t bytes) {
  return fails(Write, ENOSPC) ? -1 : NEXT(fallocate)(file, mode, at, bytes);
}

int linkat(int folder, const char *path, int newFolder, const char *newPath,
           int flags) {
  return fails(Write, ENOSPC)
             ? -1
             : NEXT(linkat)(folder, path, newFolder, newPath, flags);
}

int rename(const char *path, const char *newPath) {
  return fails(Write, ENOSPC) ? -1 : NEXT(rename)(path, newPath);
}

int fdatasync(int file) {
  return fails(Write, EIO) ? -1 : NEXT(fdatasync)(file);
}

int fsync(int file) { return fails(Write, EIO) ? -1 : NEXT(fsync)(file); }

void *mmap(void *wish, size_t bytes, int protection, int flags, int file,
           off_t at) {
  return fails(Map, ENOMEM)
             ? MAP_FAILED
             : NEXT(mmap)(wish, bytes, protection, flags, file, at);
}

int madvise(void *memory, size_t bytes, int advice) {
  return fails(Map, ENOMEM) ? -1 : NEXT(madvise)(memory, bytes, advice);
}

int connect(int socket, const sockaddr *address, socklen_t bytes) {
  return fails(Connect, ECONNREFUSED) ? -1
                                      : NEXT(connect)(socket, address, bytes);
}

ssize_t send(int socket, const void *bytes, size_t count, int flags) {
  return fails(Send, ECONNRESET) ? -1 : NEXT(send)(socket, bytes, count, flags);
}

ssize_t sendmsg(int socket, const msghdr *message, int flags) {
  return fails(Send, ECONNRESET) ? -1 : NEXT(sendmsg)(socket, message, flags);
}

ssize_t recv(int socket, void *bytes, size_t count, int flags) {
  return fails(Receive, ECONNRESET) ? -1
                                    : NEXT(recv)(socket, bytes, count, flags);
}

ssize_t recvmsg(int socket, msghdr *message, int flags) {
  return fails(Receive, ECONNRESET) ? -1
                                    : NEXT(recvmsg)(socket, message, flags);
}

int clock_gettime(clockid_t clock, timespec *time) {
  const int result = NEXT(clock_gettime)(clock, time);
  if (control && clock == CLOCK_REALTIME)
    time->tv_sec += control->clockSeconds.load();
  return result;
}

// The same functions under the names for large files.
int open64(const char *path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = va_arg(more, mode_t);
  va_end(more);
  return open(path, flags, mode);
}
void *mmap64(void *wish, size_t bytes, int protection, int flags, int file,
             off64_t at) {
  return mmap(wish, bytes, protection, flags, file, at);
}
ssize_t pwrite64(int file, const void *bytes, size_t count, off64_t at) {
  return pwrite(file, bytes, count, at);
}
int fcntl64(int file, int operation, ...) {
  va_list more;
  va_start(more, operation);
  void *argument = va_arg(more, void *);
  va_end(more);
  return fcntl(file, operation, argument);
}
int fallocate64(int file, int mode, off64_t at, off64_t bytes) {
  return fallocate(file, mode, at, bytes);
}
int ftruncate64(int file, off64_t bytes) { return ftruncate(file, bytes); }

} // extern "C"
