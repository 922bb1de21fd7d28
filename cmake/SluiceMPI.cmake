# The headers of the two MPIs that the runtime can be launched by, as Debian
# installs them. Only headers are needed: the libraries are opened when a job is
# launched, so that an executable starts where neither is installed. Where a
# header is missing, the runtime is built without that MPI and says so when it
# is launched by it.

find_path(SLUICE_OPENMPI_INCLUDE mpi.h
  PATHS /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/openmpi/include
        /usr/lib/x86_64-linux-gnu/openmpi/include
  NO_DEFAULT_PATH
  DOC "Folder of Open MPI's mpi.h")
find_path(SLUICE_MPICH_INCLUDE mpi.h
  PATHS /usr/include/${CMAKE_LIBRARY_ARCHITECTURE}/mpich
        /usr/include/x86_64-linux-gnu/mpich
  NO_DEFAULT_PATH
  DOC "Folder of MPICH's mpi.h")

foreach(mpi OPENMPI MPICH)
  if(NOT SLUICE_${mpi}_INCLUDE)
    message(STATUS "No mpi.h found for ${mpi}: building without it "
                   "(set SLUICE_${mpi}_INCLUDE)")
  endif()
endforeach()

# Programs that launch the tests of the communicator; tests that have none are
# skipped, and say so.
find_program(SLUICE_MPIRUN_OPENMPI mpirun.openmpi)
find_program(SLUICE_MPIRUN_MPICH mpirun.mpich)
