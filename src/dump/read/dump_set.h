// A dump on disk, opened for reading by its path alone. Reads names, tables and headers at once,
// tensors on demand. Recognised are MindSpore's trees, written by opdump or by the original: scheme (A), with
// or without the dtype field in file names, (B) and (C) with .npy files or containers, and that of r1.3;
// CANN's, TorchAir's and msprobe's; with tensors, statistics or both; given as root or as any directory
// below, several in one root too. Also folders of .npy files, .npz archives, .safetensors, .h5 files of
// PyTorch's dumper, files of torch.save, test data of ONNX models, logs of DebugMode, and any one file of
// these. How operators are named then: docs/reading.md.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/file/file.h"
#include "base/file/scratch.h"
#include "base/log.h"
#include "base/result.h"
#include "dump/operator_log.h"
#include "dump/read/dump_filter.h"
#include "dump/read/operator_run.h"
#include "dump/read/problems.h"
#include "dump/read/runs.h"
#include "dump/status_file.h"
#include "dump/write/scheme_writer.h"
#include "model/tensor_view.h"

namespace opdump::dump {

// A record that says an operator overflowed.
struct Overflow {
  std::filesystem::path file;
  std::uint32_t rank = 0;
  std::int64_t graph_id = 0, step = 0;
  std::uint64_t task = 0;  // of the operator: see OperatorRun
  std::int64_t stream = 0;
  std::uint64_t status = 0;  // of the AI Core; other than 0
};

class DumpSet {
 public:
  // Opens a dump. If a device has recorded a network several times, only the last recording is read, and
  // `log` gets a warning. Errors: not_found (no such path, or nothing in it that we recognise), io. The
  // stages of reading: dump/read/dump_set_reader.h.
  static Result<DumpSet> open(const std::filesystem::path& path, const LogSink& log = {});
  DumpSet(DumpSet&&) noexcept = default;
  DumpSet& operator=(DumpSet&&) noexcept = default;

  // The executions are sorted by rank and step, then in order of execution: the graphs of a step as they ran.
  const Runs& runs() const { return runs_; }
  // Leaves out what is before a step: see LaterRuns.
  LaterRuns hide_before(std::int64_t step) { return {runs_, step}; }
  // They are sorted by rank, graph, step and file name.
  const std::vector<Overflow>& overflows() const { return overflows_; }
  const std::vector<Problem>& problems() const { return problems_.list(); }
  // How each rank's recording ended; absent for dumps of other tools.
  const std::map<std::uint32_t, RecordingStatus>& statuses() const { return statuses_; }
  // What was not to be recorded.
  const DumpFilter& filter() const { return filter_; }
  const std::filesystem::path& path() const { return path_; }
  // rank_N of the ranks in the dump, also of the one above it.
  const std::map<std::uint32_t, std::filesystem::path>& rank_directories() const { return rank_directories_; }

 private:
  friend class DumpSetReader;
  DumpSet() = default;
  std::filesystem::path path_;
  Runs runs_;
  std::vector<Overflow> overflows_;
  Problems problems_;
  DumpFilter filter_;
  std::map<std::uint32_t, RecordingStatus> statuses_;
  std::map<std::uint32_t, std::filesystem::path> rank_directories_;
};

// What is asked of the addresses of elements.
enum class Alignment : std::uint8_t { natural, any };

// A tensor of a dump in memory: mapped where the file's bytes can be used as they are.
class StoredTensor {
 public:
  // `slot` must have a file. Errors: not_found, io, corrupt, unsupported, limit. The elements of a .npy or
  // .h5 are what it holds: float32 where slot.dtype says bfloat16. Packed ones of other files are unpacked:
  // int8 where it says int4, uint8 where it says uint1. An array in Fortran order is a view with strides.
  // Elements that lie together stay where they are under Alignment::any, at addresses that are no multiple of
  // their size; otherwise such are copied.
  static Result<StoredTensor> read(const Slot& slot, Alignment alignment = Alignment::natural);

  // Reads a .npy file.
  static Result<StoredTensor> read(const std::filesystem::path& file);
  const model::TensorView& view() const { return view_; }

  // Puts the elements of a large tensor in row-major order if they are not, for who walks over them so: in
  // another order that would look at all of a file again and again. Errors: as Scratch::make.
  Result<> straighten();

 private:
  StoredTensor(MappedFile file, Scratch copy, model::TensorView view)
      : file_(std::move(file)), copy_(std::move(copy)), view_(std::move(view)) {}
  static Result<StoredTensor> read_npy(MappedFile file, std::span<const std::byte> npy);
  static Result<StoredTensor> read_part(const Slot& slot, MappedFile part, Alignment alignment);
  static Result<StoredTensor> read_strided(const Slot& slot, MappedFile part);
  static Result<StoredTensor> read_deflated(const Slot& slot, MappedFile part);
  static Result<StoredTensor> read_base64(const Slot& slot, MappedFile part);
  static Result<StoredTensor> read_numbers(MappedFile file);
  static Result<StoredTensor> read_hdf5(const Slot& slot);
  MappedFile file_;
  Scratch copy_;  // of data that the file does not align, or not hold as it is
  model::TensorView view_;
};

}  // namespace opdump::dump
