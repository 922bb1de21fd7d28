"""What TCP gets from a link.

  probe.py serve             answers; says when it listens
  probe.py HOST SECONDS      prints times of 64 bytes there and back in seconds,
                             and at the end bytes a second of a longer transfer
"""
import socket
import sys
import time

PORT, SMALL, TRIPS, END = 7077, 64, 200, b"."


def serve():
    listener = socket.create_server(("", PORT))
    print("listening", flush=True)
    peer = listener.accept()[0]
    peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for _ in range(TRIPS):
        peer.sendall(peer.recv(SMALL, socket.MSG_WAITALL))
    while not peer.recv(1 << 16).endswith(END):
        pass
    peer.sendall(END)


def ask(host, seconds):
    peer = socket.create_connection((host, PORT))
    peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for _ in range(TRIPS):
        time.sleep(0.001)
        begin = time.perf_counter()
        peer.sendall(bytes(SMALL))
        peer.recv(SMALL, socket.MSG_WAITALL)
        print(time.perf_counter() - begin)
    begin, sent = time.perf_counter(), 0
    while time.perf_counter() < begin + seconds:
        peer.sendall(bytes(1 << 14))
        sent += 1 << 14
    peer.sendall(END)
    peer.recv(1)
    print(sent / (time.perf_counter() - begin))


if __name__ == "__main__":
    serve() if sys.argv[1] == "serve" else ask(sys.argv[1],
                                               float(sys.argv[2]))
