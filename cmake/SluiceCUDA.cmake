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

# sluice_cuda_image(OUT_IMAGE OUT_REPORT source): compiles `source` for all chips
# into one fat binary, and keeps what ptxas says of each kernel beside it.
function(sluice_cuda_image out_image out_report source)
  get_filename_component(name ${source} NAME_WE)
  set(image ${CMAKE_CURRENT_BINARY_DIR}/${name}.fatbin)
  set(report ${CMAKE_CURRENT_BINARY_DIR}/${name}.ptxas)
  set(chips)
  foreach(chip ${SLUICE_CUDA_ARCHITECTURES})
    # Later chips are assembled from the PTX that is made in any case: a
    # compilation less, a fifth of nvcc's time.
    set(virtual ${chip})
    if(chip MATCHES "^[0-9]+$" AND chip GREATER SLUICE_CUDA_PTX)
      set(virtual ${SLUICE_CUDA_PTX})
    endif()
    list(APPEND chips -gencode arch=compute_${virtual},code=sm_${chip})
  endforeach()
  list(APPEND chips -gencode
       arch=compute_${SLUICE_CUDA_PTX},code=compute_${SLUICE_CUDA_PTX})
  # Contraction would make other numbers of the kernels than the emulator does.
  # Lines are for profilers and sanitizers on a GPU; compressed, images with them
  # are smaller than plain ones without.
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
