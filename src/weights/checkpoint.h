// The tensors of a checkpoint: names, shapes and where the elements lie, from whatever kind of file. No
// element is read here.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "dump/read/operator_run.h"

namespace opdump::weights {

// What of a training run a tensor belongs to.
enum class TensorOwner : std::uint8_t { model, ema, optimizer, other };
inline constexpr std::string_view kOwnerNames[] = {"model", "ema", "optimizer", "other"};
inline constexpr std::size_t kOwnerCount = 4;

struct WeightTensor {
  std::string name;  // as in the file: "model.layers.0.mlp.up_proj.weight"
  TensorOwner owner = TensorOwner::model;
  dump::Slot slot;      // dtype and shape, and where the elements lie
  std::string fault;    // not empty: why the elements cannot be read
  bool is_sure = true;  // false: it may be something else, such as an activation or a constant of a graph

  model::DType dtype() const { return slot.dtype; }
  const model::Shape& shape() const { return *slot.shape; }
};

struct Checkpoint {
  std::string path;
  std::vector<WeightTensor> tensors;  // names differ
  std::vector<std::string> problems;  // what could not be read: the checkpoint is not complete
  std::vector<std::string> remarks;   // what a reader should know
  bool is_dump = false;               // it has what was used, and not all that there is
};

// Reads a file (.safetensors, .pt and other files of torch.save, .npz, .npy, .onnx, an index of shards), a
// folder of them, or a dump, of which the tensors are those that operators read as weights in its first step.
// A pickle is never executed. Errors: not_found; unsupported -- nothing that has weights; those of DumpSet.
Result<Checkpoint> read_checkpoint(const std::filesystem::path& path);

}  // namespace opdump::weights
