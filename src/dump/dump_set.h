// A dump on disk, opened for reading without being told what it is. Reads names, tables and headers at once,
// tensors on demand. Recognised are MindSpore's trees, written by opdump or by the original: layout (A), with
// or without the dtype field in file names, (B) and (C) with .npy files or containers, and that of r1.3;
// CANN's and TorchAir's; with tensors, statistics or both; given as root or as any directory below, several
// in one root too. Also folders of .npy files, .npz archives, .safetensors, .h5 files of PyTorch's dumper,
// test data of ONNX models, and any one file of these. How operators are named then: docs/reading.md.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/log.h"
#include "base/packed_texts.h"
#include "base/result.h"
#include "base/scratch.h"
#include "dump/layout.h"
#include "dump/operator_log.h"
#include "dump/status_file.h"
#include "format/dump_data.h"
#include "model/operator.h"
#include "model/tensor_view.h"

namespace opdump::dump {

// How the elements of a slot lie in its file.
enum class Packing : std::uint8_t {
  none,      // a .npy file of its own, or in `part` as they are
  npy,       // `part` is a .npy file
  deflated,  // `part` is a .npy file, deflated
  onnx,      // the file is a TensorProto that has its elements as numbers
  hdf5,      // in the dataset `member` of an HDF5 file, in chunks or in another byte order
};

// Statistics by column header in file order, as printed: "Max Value" -> "9.53939".
class SlotStatistics {
 public:
  using Columns = std::vector<std::pair<std::string, std::string>>;

  SlotStatistics() = default;
  SlotStatistics(const Columns& columns);  // NOLINT: the same, kept in less room
  // A row of a table, whose slots share the names.
  SlotStatistics(std::shared_ptr<const std::vector<std::string>> names, std::span<const std::string> values);

  bool empty() const { return names_ == nullptr; }
  Columns columns() const;

 private:
  std::shared_ptr<const std::vector<std::string>> names_;  // null without columns
  PackedTexts values_;
};

// One recorded tensor of one execution.
struct Slot {
  model::Side side = model::Side::input;
  std::uint32_t index = 0;
  std::string argument;  // what the operand is called, or "1.0" for a tensor of a list; mostly empty
  std::uint64_t timestamp_us = 0;
  std::string format;                            // "DefaultFormat"
  model::DType dtype = model::DType::undefined;  // the original dtype; undefined where the dump does not say
  std::string file;                              // its path; empty if only statistics were kept
  // Where in the file the elements lie, if it is no .npy: as they are, row by row, in `dtype` and `shape`.
  std::optional<format::Extent> part;
  Packing packing = Packing::none;                      // of `part`, if they do not lie there as they are
  std::uint64_t unpacked_bytes = 0;                     // of what is deflated
  std::string member;                                   // of an HDF5 file
  model::DType stored_dtype = model::DType::undefined;  // of the elements in `part`, if other than `dtype`
  std::optional<model::Shape> shape;                    // from statistics or from the header of the file
  SlotStatistics statistics;                            // empty if only the tensor was kept
  std::string undumped_reason;  // not empty: there is neither file nor statistics, and this is why
};

// One execution of an operator in one step.
struct OperatorRun {
  std::uint32_t rank = 0;
  std::int64_t graph_id = 0, step = 0;
  std::string type;                     // empty where the dump does not say
  std::string name;                     // as in file names: sanitise_name(full name)
  const model::Operator* op = nullptr;  // full name, phase, source; null in dumps of other tools
  std::uint64_t task = 0;  // as in file names; 0 in layout (A); in .h5 files the number of the call
  std::int64_t stream = 0;
  std::vector<Slot> slots;  // inputs by index, then outputs by index
};

// A record that says an operator overflowed.
struct Overflow {
  std::filesystem::path file;
  std::uint32_t rank = 0;
  std::int64_t graph_id = 0, step = 0;
  std::uint64_t task = 0;  // of the operator: see OperatorRun
  std::int64_t stream = 0;
  std::uint64_t status = 0;  // of the AI Core; other than 0
};

// Something in the dump that could not be used.
struct Problem {
  std::filesystem::path path;
  std::string what;  // "header announces 4096 bytes, 100 in file"
};

class DumpSet {
 public:
  // Of several recordings of a network by a device only the last one is read, which `tell` hears of. Errors:
  // not_found (no such path, or nothing in it that we recognise), io.
  static Result<DumpSet> open(const std::filesystem::path& path, const LogSink& tell = {});
  DumpSet(DumpSet&&) noexcept = default;
  DumpSet& operator=(DumpSet&&) noexcept = default;

  // Sorted by rank, step, graph, then order of execution.
  const std::vector<OperatorRun>& runs() const { return runs_; }
  // In order of rank, graph, step and file name.
  const std::vector<Overflow>& overflows() const { return overflows_; }
  const std::vector<Problem>& problems() const { return problems_; }
  // How each rank's recording ended; absent for dumps of other tools.
  const std::map<std::uint32_t, Status>& statuses() const { return statuses_; }
  const std::filesystem::path& path() const { return path_; }
  // rank_N of the ranks in the dump, also of the one above it.
  const std::map<std::uint32_t, std::filesystem::path>& rank_directories() const { return rank_directories_; }

 private:
  friend class DumpSetReader;
  DumpSet() = default;
  std::filesystem::path path_;
  std::vector<OperatorRun> runs_;
  std::vector<Overflow> overflows_;
  std::vector<Problem> problems_;
  std::map<std::uint32_t, Status> statuses_;
  std::map<std::uint32_t, std::filesystem::path> rank_directories_;
  std::vector<std::unique_ptr<OperatorLog>> logs_;  // runs point into these
};

// What is asked of the addresses of elements.
enum class Alignment : std::uint8_t { natural, any };

// A tensor of a dump in memory: mapped where the file's bytes can be used as they are.
class StoredTensor {
 public:
  // `slot` must have a file. Errors: not_found, io, corrupt, unsupported, limit. The elements of a .npy or
  // .h5 are what it holds: float32 where slot.dtype says bfloat16. Packed ones of other files are unpacked:
  // int8 where it says int4, uint8 where it says uint1. An array in Fortran order is a view with strides.
  // With Alignment::any elements that lie together stay where they are, at addresses that are no multiple of
  // their size; otherwise such are copied.
  static Result<StoredTensor> read(const Slot& slot, Alignment alignment = Alignment::natural);

  // Of a .npy file.
  static Result<StoredTensor> read(const std::filesystem::path& file);
  const model::TensorView& view() const { return view_; }

  // Puts the elements of a large tensor in row-major order if they are not, for who walks over them so: in
  // another order that would look at all of a file again and again. Errors: as Scratch::make.
  Result<> straighten();

 private:
  StoredTensor(MappedFile file, Scratch copy, model::TensorView view)
      : file_(std::move(file)), copy_(std::move(copy)), view_(std::move(view)) {}
  static Result<StoredTensor> read_npy(MappedFile file, std::span<const std::byte> npy, std::size_t offset);
  static Result<StoredTensor> read_part(const Slot& slot, MappedFile file, Alignment alignment);
  static Result<StoredTensor> read_deflated(const Slot& slot, MappedFile file);
  static Result<StoredTensor> read_numbers(MappedFile file);
  static Result<StoredTensor> read_hdf5(const Slot& slot);
  MappedFile file_;
  Scratch copy_;  // of data that the file does not align, or not hold as it is
  model::TensorView view_;
};

}  // namespace opdump::dump
