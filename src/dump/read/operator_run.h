// What a dump knows of one execution of an operator, and of each tensor that it read or wrote.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/text/packed_texts.h"
#include "dump/logged_operator.h"
#include "dump/wiring.h"
#include "format/tensors/dump_data.h"
#include "model/dtype.h"
#include "model/operator.h"
#include "model/shape.h"

namespace opdump::dump {

// How the elements of a slot lie in its file.
enum class Packing : std::uint8_t {
  none,      // a .npy file of its own, or in `part` as they are
  npy,       // `part` is a .npy file
  deflated,  // `part` is a .npy file, deflated
  base64,    // `part` is a .npy file as base64
  onnx,      // `part` is a TensorProto that has its elements as numbers
  strided,   // in `part` as they are, by `strides`
  hdf5,      // in the dataset `member` of an HDF5 file, in chunks or in another byte order
};

// Statistics by column header in file order, as printed: "Max Value" -> "9.53939".
class SlotStatistics {
 public:
  using Columns = std::vector<std::pair<std::string, std::string>>;
  using Names = std::shared_ptr<const std::vector<std::string>>;

  SlotStatistics() = default;
  SlotStatistics(const Columns& columns);  // NOLINT: the same, kept in less room
  // A row of a table, whose slots share the names.
  SlotStatistics(Names names, PackedTexts values);

  bool empty() const { return names_ == nullptr; }
  Columns columns() const;
  const Names& names() const { return names_; }  // null without columns
  const PackedTexts& values() const { return values_; }

 private:
  Names names_;
  PackedTexts values_;
};

// A file that has several names.
struct LinkedFile {
  std::uint64_t device = 0, inode = 0;  // 0: it has one name only
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
  std::uint64_t unpacked_bytes = 0;                     // of what is deflated or base64
  std::optional<model::Shape> strides;                  // of what is strided, in elements
  std::uint64_t file_bytes = 0;                         // of a .npy
  LinkedFile linked;                                    // of a .npy
  std::string member;                                   // of an HDF5 file
  model::DType stored_dtype = model::DType::undefined;  // of the elements in `part`, if other than `dtype`
  std::optional<model::Shape> shape;                    // from statistics or from the header of the file
  SlotStatistics statistics;                            // empty if only the tensor was kept
  std::string undumped_reason;  // not empty: there is neither file nor statistics, and this is why

  bool has_data() const { return !file.empty() || !statistics.empty(); }
  // Returns the size of the file, or of the part of it; 0 if there is none.
  std::uint64_t stored_bytes() const { return part ? part->bytes : file.empty() ? 0 : file_bytes; }
};

// One execution of an operator in one step.
struct OperatorRun {
  std::uint32_t rank = 0;
  std::int64_t graph_id = 0, step = 0;
  std::string type;                          // empty where the dump does not say
  std::string name;                          // as in file names: sanitise_name(full name)
  std::shared_ptr<const LoggedOperator> op;  // full name, phase, source; null in dumps of other tools
  // What it executed; null where the dump does not say.
  std::shared_ptr<const CallForm> form;
  // Who made what it read; null where the dump does not say.
  std::shared_ptr<const CallWiring> wiring;
  std::uint64_t task = 0;  // as in file names; 0 in scheme (A); in .h5 files the number of the call
  std::int64_t stream = 0;
  std::vector<Slot> slots;  // inputs by index, then outputs by index
  bool is_joined = false;   // it stands for several: the inputs of the first, all else of the last

  // What the operators of the model's file are called that an engine made it of: none if the engine put it
  // in. Null unless it is of a graph as an engine executes it.
  const std::vector<std::string>* originals() const {
    return op != nullptr && op->original_names ? &*op->original_names : nullptr;
  }
};

// Receives executions, one after the other.
using TakeRun = std::function<void(OperatorRun run)>;

}  // namespace opdump::dump
