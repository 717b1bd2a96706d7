// One file of a checkpoint.
#pragma once

#include <filesystem>
#include <string>

#include "weights/checkpoint.h"

namespace opdump::weights {

enum class WeightFile : std::uint8_t { none, safetensors, torch, npz, npy, onnx, index };

// What a file is by its first bytes, and by its name where these do not suffice.
WeightFile find_weight_file(const std::filesystem::path& path);

// Appends the tensors of a file that is no index. Names of tensors begin with `prefix`. What is wrong is
// appended to `problems`.
void read_weight_file(const std::filesystem::path& path, WeightFile kind, const std::string& prefix,
                      Checkpoint& checkpoint);

// What of a training run a tensor of this name belongs to.
TensorOwner owner_of(std::string_view name);

}  // namespace opdump::weights
