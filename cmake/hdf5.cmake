# opdump_hdf5: HDF5's header. Nothing is linked: the library is found and loaded when an .h5 file is met (see
# src/format/tensors/h5_library.cc).
pkg_search_module(HDF5 hdf5-serial hdf5)
find_path(OPDUMP_HDF5_INCLUDE hdf5.h REQUIRED HINTS ${HDF5_INCLUDE_DIRS} PATH_SUFFIXES hdf5/serial)
add_library(opdump_hdf5 INTERFACE)
target_include_directories(opdump_hdf5 SYSTEM INTERFACE ${OPDUMP_HDF5_INCLUDE})
