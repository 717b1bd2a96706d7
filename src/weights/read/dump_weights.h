// The weights in a dump: what operators read as weights.
#pragma once

#include <filesystem>

#include "weights/checkpoint.h"

namespace opdump::weights {

// Whether a folder is a dump of operators, and not files of tensors alone.
bool is_recorded_dump(const std::filesystem::path& path);

// Appends the weights that operators of the forward pass read in the first step of the lowest rank, named as
// state_dict() names them: "layer1.0.conv1.weight". Errors: those of DumpSet::open; unsupported -- the dump
// does not say what operators read.
Result<> read_dump_weights(const std::filesystem::path& path, Checkpoint& checkpoint);

}  // namespace opdump::weights
