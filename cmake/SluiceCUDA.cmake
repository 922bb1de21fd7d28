# nvcc, and how kernels become bytes inside the runtime. The toolkit is needed
# for building alone: libcuda is opened at run time.

option(SLUICE_BUILD_CUDA "Build the CUDA kernels where nvcc is found" ON)
set(SLUICE_CUDA_ARCHITECTURES "80;90a;100;120" CACHE STRING
    "Chips to build CUDA kernels for")
set(SLUICE_CUDA_PTX "100" CACHE STRING
    "Virtual chip whose PTX is added, for chips that come later; the compiler's too")
# Kernels of older PTX have no dependent launch, also on chips that have it.
if(NOT SLUICE_CUDA_PTX MATCHES "^[0-9]+$" OR SLUICE_CUDA_PTX LESS 90)
  message(FATAL_ERROR "SLUICE_CUDA_PTX is ${SLUICE_CUDA_PTX}, expected 90 or "
                      "more, without a letter")
endif()

if(SLUICE_BUILD_CUDA)
  find_program(SLUICE_NVCC nvcc HINTS /usr/local/cuda/bin)
  if(SLUICE_NVCC)
    message(STATUS "CUDA kernels: ${SLUICE_NVCC} for sm "
                   "${SLUICE_CUDA_ARCHITECTURES}, PTX ${SLUICE_CUDA_PTX}")
  else()
    message(STATUS "CUDA kernels: no nvcc found (set SLUICE_NVCC); their "
                   "sources are tested in the emulator, and executables run on "
                   "the CPU alone")
  endif()
else()
  message(STATUS "CUDA kernels: left out (SLUICE_BUILD_CUDA is off)")
endif()

# sluice_cuda_image(OUT_IMAGE OUT_REPORT source [CHIPS chips...]): compiles
# `source` into one fat binary, and keeps what ptxas says of each kernel beside
# it: for all chips and with PTX, or for the chips that are named alone.
function(sluice_cuda_image out_image out_report source)
  cmake_parse_arguments(ARG "" "" "CHIPS" ${ARGN})
  get_filename_component(name ${source} NAME_WE)
  set(image ${CMAKE_CURRENT_BINARY_DIR}/${name}.fatbin)
  set(report ${CMAKE_CURRENT_BINARY_DIR}/${name}.ptxas)
  set(chips)
  foreach(chip ${ARG_CHIPS})
    list(APPEND chips -gencode arch=compute_${chip},code=sm_${chip})
  endforeach()
  set(common_chips ${SLUICE_CUDA_ARCHITECTURES})
  if(ARG_CHIPS)
    set(common_chips)
  endif()
  foreach(chip ${common_chips})
    # Later chips are assembled from the PTX that is made in any case: a
    # compilation less, a fifth of nvcc's time.
    set(virtual ${chip})
    if(chip MATCHES "^[0-9]+$" AND chip GREATER SLUICE_CUDA_PTX)
      set(virtual ${SLUICE_CUDA_PTX})
    endif()
    list(APPEND chips -gencode arch=compute_${virtual},code=sm_${chip})
  endforeach()
  if(NOT ARG_CHIPS)
    list(APPEND chips -gencode
         arch=compute_${SLUICE_CUDA_PTX},code=compute_${SLUICE_CUDA_PTX})
  endif()
  # Contraction would make other numbers of the kernels than the emulator does.
  # Lines are for profilers and sanitizers on a GPU. Compressed so, images with
  # them are smaller than plain ones without: Linear.cu's has 1.1 MB instead of
  # 7.3 by the usual way, and takes 38 s instead of 30.
  set(flags -std=c++20 -O3 --fmad=false --expt-relaxed-constexpr -lineinfo
            --compress-mode=size
            -I${CMAKE_SOURCE_DIR} -Werror all-warnings -Xptxas -v)
  set(headers ${CMAKE_CURRENT_BINARY_DIR}/${name}.d)
  string(JOIN " " command ${SLUICE_NVCC} ${flags} ${chips} -fatbin -o ${image}
         -MD -MF ${headers} -MT ${image} ${CMAKE_CURRENT_SOURCE_DIR}/${source})
  add_custom_command(
    OUTPUT ${image} ${report}
    COMMAND sh -c
            "${command} > ${report} 2>&1 || { cat ${report}; rm -f ${report}; exit 1; }"
    DEPENDS ${source}
    DEPFILE ${headers}
    COMMENT "Building CUDA kernels of ${source}"
    VERBATIM)
  set(${out_image} ${image} PARENT_SCOPE)
  set(${out_report} ${report} PARENT_SCOPE)
endfunction()

# sluice_embed_images(OUT_SOURCE function header images...): a C++ source with
# the images as bytes, which defines sluice::cuda::`function` of `header`. There
# may be no images.
function(sluice_embed_images out_source function header)
  set(declarations)
  set(entries)
  foreach(image ${ARGN})
    get_filename_component(name ${image} NAME_WE)
    string(APPEND declarations
      "SLUICE_IMAGE(\"${name}\", \"${image}\");\n"
      "extern \"C\" const uint8_t sluice_image_${name}[];\n"
      "extern \"C\" const uint8_t sluice_image_end_${name}[];\n")
    string(APPEND entries
      "      {\"${name}\", {sluice_image_${name}, sluice_image_end_${name}}},\n")
  endforeach()
  list(LENGTH ARGN count)
  set(source ${CMAKE_CURRENT_BINARY_DIR}/${function}.cpp)
  configure_file(
    ${CMAKE_SOURCE_DIR}/runtime/device/cuda/images/KernelImages.cpp.in
    ${source} @ONLY)
  set_source_files_properties(${source} PROPERTIES OBJECT_DEPENDS "${ARGN}")
  set(${out_source} ${source} PARENT_SCOPE)
endfunction()
