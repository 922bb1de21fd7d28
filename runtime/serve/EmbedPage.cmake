# Writes a C++ file that holds the files of the web page as arrays of bytes:
#   cmake -DPAGE=folder -DOUT=file.cpp -P EmbedPage.cmake

set(files index.html page.css page.js picture.js)
set(paths / /page.css /page.js /picture.js)
set(types text/html text/css text/javascript text/javascript)

set(arrays)
set(table)
foreach(file path type IN ZIP_LISTS files paths types)
  string(MAKE_C_IDENTIFIER ${file} name)
  file(READ ${PAGE}/${file} bytes HEX)
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
  string(REPEAT "." 80 line) # 16 bytes
  string(REGEX REPLACE "${line}" "\\0\n" bytes "${bytes}")
  string(APPEND arrays
    "static constexpr unsigned char ${name}[] = {\n${bytes}};\n")
  string(APPEND table
    "    {\"${path}\", \"${type}; charset=utf-8\", view(${name})},\n")
endforeach()

file(WRITE ${OUT} "// Made by runtime/serve/EmbedPage.cmake.
#include \"runtime/serve/PageFiles.h\"

${arrays}
template <size_t size>
static std::string_view view(const unsigned char (&bytes)[size]) {
  return {reinterpret_cast<const char *>(bytes), size};
}

std::span<const sluice::serve::PageFile> sluice::serve::pageFiles() {
  static const PageFile files[] = {
${table}  };
  return files;
}
")
