// HDF5 files of datasets with integer attributes, written by PyTorch's dumper (torch_tf_frontends.md D.3)
// or by h5py from arrays. They are read and written with the HDF5 C library, which trusts its input. A
// separate process therefore reads files (base/process/isolated.h), and nothing outside the file is opened:
// links to other files are not followed, elements in other files are rejected, and filters are not loaded
// from plug-ins. Page: docs/formats/h5.md.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file/kept_file.h"
#include "base/file/scratch.h"
#include "base/result.h"
#include "format/tensors/dump_data.h"
#include "format/tensors/write_behind.h"
#include "model/tensor_view.h"

namespace opdump::format {

// One integer, or a list of them.
struct H5Attribute {
  std::string name;
  bool is_list = false;
  std::vector<std::int64_t> values;  // one if it is no list
  bool operator==(const H5Attribute&) const = default;
};

struct H5Dataset {
  std::string path;                              // "/add_Tensor/1/input/self"
  model::DType dtype = model::DType::undefined;  // of the elements; undefined for text, records and the like
  model::Shape shape;                            // rank 0 for a scalar
  std::vector<H5Attribute> attributes;           // the integers among them, in order of creation
  std::uint64_t stored_bytes = 0;                // in the file; 0: a dataset without data
  // Where the elements lie, if they lie there row by row and in little endian; otherwise H5File::read has
  // them.
  std::optional<Extent> extent;
  std::string fault;  // not empty: why the elements are not read

  // The attribute's number, or nothing if there is none of this name or it is a list.
  std::optional<std::int64_t> find_number(std::string_view attribute) const;
};

// The recording state of a file: attributes of the root group, in files that opdump wrote.
struct H5State {
  std::string state;    // "recording", "complete" or "incomplete"; empty in files of other writers
  std::string loss;     // of an incomplete file: the first missing item
  std::string version;  // of opdump
};

// Hands each dataset to `take`, in alphabetical order of paths by each level; if the result is an error,
// those that came before the damage. Every extent lies in the file. `take_state` gets the state before them,
// also an empty one. Neither may read HDF5 files. Errors: not_found, io, corrupt (no HDF5 file, or a damaged
// one), limit, unsupported (HDF5 is not installed).
Result<> list_h5(const std::filesystem::path& path, const std::function<void(H5Dataset dataset)>& take,
                 const std::function<void(H5State state)>& take_state = {});

class H5File {
 public:
  // Keeps what list_h5 gives. Errors: its.
  static Result<H5File> open(const std::filesystem::path& path);

  const std::vector<H5Dataset>& datasets() const { return datasets_; }

  // read_h5_elements() of this file.
  Result<Scratch> read(const H5Dataset& dataset) const;

 private:
  H5File(std::filesystem::path path, std::vector<H5Dataset> datasets)
      : path_(std::move(path)), datasets_(std::move(datasets)) {}
  std::filesystem::path path_;
  std::vector<H5Dataset> datasets_;
};

// The elements of a dataset as H5File::open has described it (attributes do not matter), in its dtype, row by
// row; for those that have no extent. Errors: as open; corrupt -- more elements than the bytes in the file
// can hold, compressed or not; as Scratch::make.
Result<Scratch> read_h5_elements(const std::filesystem::path& path, const H5Dataset& dataset);

// True for the first bytes of an HDF5 file.
bool is_h5(std::span<const std::byte> start);

// Writes a file, in this process. One thread at a time. What was written before an error is a valid file once
// the writer is closed, unless the disk is full. The file's state is "recording" until close().
//
// The host may close descriptors that are not its own, and open files that get their numbers. Each call
// therefore makes sure first that the descriptors are still those of the file, and opens it again if not.
class H5Writer {
 public:
  // Creates the file or empties it. Errors: io, unsupported (HDF5 is not installed).
  static Result<H5Writer> create(const std::filesystem::path& path);
  H5Writer(H5Writer&& other) noexcept;
  H5Writer& operator=(H5Writer&& other) noexcept;
  ~H5Writer();  // gives the file up if it was not closed: its state stays "recording"

  // Adds a dataset and the groups that lead to it. `elements` are row-major and in the dtype that the file
  // shall have: integers of 8 to 64 bits (booleans are int8 in the file, as PyTorch's dumper has them),
  // float32 or float64; of rank 0 it is a scalar dataspace. Without data (a null pointer) the dataset has
  // none. Attributes follow in their order: a number is I32LE, a list a 1-dimensional I64LE, which may be
  // empty. Errors: io; usage (a path without a leading '/', with an empty piece or "." or "..", or that
  // exists; elements with holes); unsupported (another dtype).
  Result<> write_dataset(const std::string& path, const model::TensorView& elements,
                         std::span<const H5Attribute> attributes);

  // Makes a group, and those that lead to it. One that exists is fine. Errors: as write_dataset.
  Result<> make_group(const std::string& path);

  // Hands everything to the system. Errors: io.
  Result<> flush();

  // Reports something missing from the file: close() will mark the file incomplete. The first report is kept.
  void lose(std::string what);

  // Finishes the file: it is complete if nothing was lost and nothing failed. After it only destruction is
  // allowed. Errors: io.
  Result<> close();

 private:
  H5Writer() = default;
  explicit H5Writer(std::filesystem::path path) : path_(std::move(path)) {}
  Result<> begin();
  Result<> add_dataset(const std::string& path, const model::TensorView& elements,
                       std::span<const H5Attribute> attributes);
  Result<> add_groups(const std::string& path);
  Result<> take_descriptor();
  Result<> hold_descriptor();
  Result<> noting_loss(Result<> done);
  Result<> finish();
  std::filesystem::path path_;
  std::int64_t file_ = -1;     // HDF5's identifier; -1 when closed
  int* descriptor_ = nullptr;  // the library's, inside of it: that of kept_
  KeptFile kept_;
  WriteBehind large_;  // elements of large datasets
  std::string loss_;
};

}  // namespace opdump::format
