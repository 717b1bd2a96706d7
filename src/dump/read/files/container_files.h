// Files that hold tensors of several operators, or several tensors of one: .npz, .safetensors, HDF5, a
// model's test data.
// Lists what is in them; the elements stay where they are.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "dump/read/dump_set.h"
#include "dump/tensor_names.h"

namespace opdump::dump {

// A tensor, and what its name in the file says.
struct NamedSlot {
  TensorName name;
  Slot slot;
};

// A slot with the side, index, list and time of the name.
Slot make_slot(const TensorName& name);

// What the name of a .npy file or of a member says: MindSpore's own, one of tensor_names.h, or else the only
// output of an operator of the name `prefix` + `stem`.
TensorName name_tensor(std::string_view stem, std::string_view prefix);

// The arrays of an .npz archive, named by their members, one after the other. Appends to `problems`.
using TakeNamedSlot = std::function<void(NamedSlot named)>;
void read_npz_file(const std::filesystem::path& path, std::string_view prefix, Problems& problems,
                   const TakeNamedSlot& take);

// The tensors of a .safetensors file, named like the arrays of an archive. Appends to `problems`.
void read_safetensors_file(const std::filesystem::path& path, std::string_view prefix, Problems& problems,
                           const TakeNamedSlot& take);

// The operators of an HDF5 file, in order of their calls: /{operator}/{call}/{input|output}/{argument} as
// PyTorch's dumper writes them (docs/formats/h5.md); any other dataset is the only output of an operator
// named by its path. Arguments that are no tensors are left out. Hands each to `take`. Appends to
// `problems`.
// `take_status` hears how the file ended, unless its writer was none of ours and it is whole.
using TakeStatus = std::function<void(RecordingStatus status)>;
void read_h5_file(const std::filesystem::path& path, Problems& problems, const TakeRun& take,
                  const TakeStatus& take_status);

// The tensors of a file of torch.save, by the keys that lead to them; one that is the file has an empty name.
// Appends to `problems`.
using TakeTorchSlot = std::function<void(const std::string& name, Slot slot)>;
void read_torch_file(const std::filesystem::path& path, Problems& problems, const TakeTorchSlot& take);

// Gives `slot` the only tensor of such a file. Returns what is wrong, or nothing.
std::string place_torch_tensor(const std::filesystem::path& path, Slot& slot);

// The arrays of Polygraphy's results: each is the only output of an operator of its name, but for names that
// exporters make of an operator's, as "/conv1/Conv_output_0". Those of several
// runners differ by the runner's name, without the time at its end. Appends to `problems`.
using TakeIterationSlot = std::function<void(std::int64_t iteration, const std::string& name, Slot slot)>;
void read_polygraphy_file(const std::filesystem::path& path, Problems& problems,
                          const TakeIterationSlot& take);

// A TensorProto, slot `name` of the model. Appends to `problems`.
Slot read_onnx_file(const std::filesystem::path& path, const TestDataName& name, Problems& problems);

}  // namespace opdump::dump
