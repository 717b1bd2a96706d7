# opdump_hdf5: HDF5's header, and the name under which its library is loaded when an .h5 file is met (see
# src/format/tensors/h5_library.h). Nothing is linked.
pkg_search_module(HDF5 REQUIRED hdf5-serial hdf5)
find_library(OPDUMP_HDF5_FILE NAMES hdf5_serial hdf5 HINTS ${HDF5_LIBRARY_DIRS} REQUIRED)
execute_process(COMMAND ${CMAKE_READELF} -d ${OPDUMP_HDF5_FILE} OUTPUT_VARIABLE headers COMMAND_ERROR_IS_FATAL ANY)
if(NOT headers MATCHES "soname: \\[([^]]+)\\]")
  message(FATAL_ERROR "${OPDUMP_HDF5_FILE} has no soname")
endif()
add_library(opdump_hdf5 INTERFACE)
target_compile_definitions(opdump_hdf5 INTERFACE OPDUMP_HDF5_LIBRARY="${CMAKE_MATCH_1}")
target_include_directories(opdump_hdf5 SYSTEM INTERFACE ${HDF5_INCLUDE_DIRS})
