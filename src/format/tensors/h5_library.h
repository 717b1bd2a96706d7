// The HDF5 C library, loaded for the first .h5 file. It loads thirty libraries (also for networks) into the
// process, a cost that programs without .h5 files and training jobs should not pay.
// Inside format/ only; others use h5.h.
#pragma once

#define H5_USE_110_API  // one spelling of all functions, whatever the release
#include <hdf5.h>

#include <mutex>
#include <string>
#include <utility>

#include "base/result.h"

namespace opdump::format {

// How files are opened. The header's own macros call the library by name, to start it.
inline constexpr unsigned kH5ReadOnly = 0x0000, kH5Truncate = 0x0002;

// Functions by their own names. A table of pointers, because the library is not linked.
// clang-format off
#define OPDUMP_H5_FUNCTIONS(X) \
  X(H5open) X(H5dont_atexit) X(H5Eset_auto2) X(H5Eget_auto2) X(H5Ewalk2) X(H5Eclear2) \
  X(H5PLset_loading_state) X(H5Fopen) X(H5Fcreate) X(H5Fclose) X(H5Fflush) X(H5Ovisit2) X(H5Lexists) \
  X(H5Gcreate2) X(H5Gclose) X(H5Dopen2) X(H5Dcreate2) X(H5Dclose) X(H5Dread) X(H5Dwrite) X(H5Dget_type) \
  X(H5Dget_space) X(H5Dget_create_plist) X(H5Dget_offset) X(H5Dget_storage_size) X(H5Screate) \
  X(H5Screate_simple) X(H5Sselect_hyperslab) X(H5Sclose) X(H5Sget_simple_extent_type) X(H5Sget_simple_extent_ndims) \
  X(H5Sget_simple_extent_dims) X(H5Pcreate) X(H5Pclose) X(H5Pget_layout) X(H5Pget_chunk) X(H5Pget_external_count) \
  X(H5Pset_create_intermediate_group) X(H5Pset_alloc_time) X(H5Pset_fill_time) X(H5Pset_file_locking) X(H5Pset_fclose_degree) X(H5Tclose) \
  X(H5Tcopy) X(H5Tget_class) X(H5Tget_size) X(H5Tget_order) X(H5Tset_order) X(H5Tget_sign) \
  X(H5Tget_precision) X(H5Tget_offset) X(H5Tget_fields) X(H5Tget_ebias) X(H5Tget_norm) X(H5Tget_super) \
  X(H5Tget_nmembers) X(H5Tget_member_type) X(H5Tget_member_name) X(H5Tget_member_offset) X(H5free_memory) \
  X(H5Acreate2) X(H5Aopen) X(H5Aclose) X(H5Aread) X(H5Awrite) X(H5Aget_type) X(H5Aget_space) \
  X(H5Aiterate2) X(H5Aexists) X(H5Tset_size) X(H5Tis_variable_str) X(H5Fget_vfd_handle)
// Its variables: types, and classes of property lists.
#define OPDUMP_H5_VARIABLES(X) \
  X(H5T_STD_I8LE_g) X(H5T_STD_I16LE_g) X(H5T_STD_I32LE_g) X(H5T_STD_I64LE_g) X(H5T_STD_U8LE_g) \
  X(H5T_STD_U16LE_g) X(H5T_STD_U32LE_g) X(H5T_STD_U64LE_g) X(H5T_IEEE_F32LE_g) X(H5T_IEEE_F64LE_g) X(H5T_C_S1_g) \
  X(H5P_CLS_FILE_ACCESS_ID_g) X(H5P_CLS_LINK_CREATE_ID_g) X(H5P_CLS_DATASET_CREATE_ID_g)
// clang-format on

struct H5Library {
#define OPDUMP_H5_MEMBER(name) decltype(&::name) name = nullptr;
  OPDUMP_H5_FUNCTIONS(OPDUMP_H5_MEMBER)
#undef OPDUMP_H5_MEMBER
#define OPDUMP_H5_MEMBER(name) hid_t name = -1;
  OPDUMP_H5_VARIABLES(OPDUMP_H5_MEMBER)
#undef OPDUMP_H5_MEMBER
  std::string fault;  // not empty: nothing above may be used
};

// Loads the library if need be. Errors: unsupported -- it is not installed.
Result<const H5Library*> load_h5();

// Held around every use: one thread at a time, and a failure is not printed.
class H5Lock {
 public:
  explicit H5Lock(const H5Library& h5);
  H5Lock(const H5Lock&) = delete;
  H5Lock& operator=(const H5Lock&) = delete;
  ~H5Lock();

 private:
  std::lock_guard<std::mutex> lock_;
  const H5Library& h5_;
  H5E_auto2_t printer_ = nullptr;  // what a host that uses HDF5 itself has set
  void* printer_data_ = nullptr;
};

// An identifier that is closed with the function it names.
class H5Id {
 public:
  using Close = herr_t (*)(hid_t);

  H5Id() = default;
  H5Id(hid_t id, Close close) : id_(id), close_(close) {}
  H5Id(H5Id&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  H5Id& operator=(H5Id&& other) noexcept {
    std::swap(id_, other.id_);
    std::swap(close_, other.close_);
    return *this;
  }
  H5Id(const H5Id&) = delete;
  H5Id& operator=(const H5Id&) = delete;
  ~H5Id() {
    if (id_ >= 0) close_(id_);
  }

  hid_t get() const { return id_; }
  explicit operator bool() const { return id_ >= 0; }
  // Gives up the identifier: the caller closes it.
  hid_t release() { return std::exchange(id_, -1); }

 private:
  hid_t id_ = -1;
  Close close_ = nullptr;
};

// The cause of the library's last failure, in its words.
std::string h5_reason(const H5Library& h5);

}  // namespace opdump::format
