// A checkpoint that is a folder, or that an index describes.
#include <algorithm>
#include <map>
#include <set>
#include <system_error>

#include "base/file/content.h"
#include "base/file/file.h"
#include "base/text/json.h"
#include "base/text/natural_order.h"
#include "base/text/text.h"
#include "weights/read/dump_weights.h"
#include "weights/read/files.h"

namespace opdump::weights {
namespace fs = std::filesystem;
namespace {

constexpr std::uint64_t kMostIndexBytes = 64 << 20;
constexpr std::size_t kMostFiles = 100'000;
constexpr int kMostDepth = 8;

// {"weight_map": {"model.norm.weight": "model-00001-of-00002.safetensors", ...}}
Result<> read_index(const fs::path& path, Checkpoint& to) {
  OPDUMP_TRY(const std::string text, read_file(path, kMostIndexBytes));
  std::map<std::string, std::set<std::string>> names_of;  // by file
  std::string fault;
  const auto take = [&](const std::string& name, nlohmann::json value) {
    const std::string file = value.is_string() ? value.get<std::string>() : std::string();
    if (file.empty() || file.find('/') != std::string::npos || file == "..")
      fault = name + " is in no file of this folder";
    else
      names_of[file].insert(name);
  };
  if (auto read = parse_members(text, "weight_map", take); !read)
    return read.take_error().within(path.string());
  if (!fault.empty()) return Error(Code::corrupt, path.string() + ": " + fault);
  for (auto& [file, names] : names_of) {
    const fs::path shard = path.parent_path() / file;
    std::error_code ignored;
    if (!fs::exists(shard, ignored)) {
      to.problems.push_back(shard.string() + ": there is no such file, and the index has " +
                            counted(names.size(), "tensor") + " in it");
      continue;
    }
    const std::size_t first = to.tensors.size();
    read_weight_file(shard, find_weight_file(shard), "", to);
    for (std::size_t i = first; i < to.tensors.size(); ++i) names.erase(to.tensors[i].name);
    if (!names.empty())
      to.problems.push_back(shard.string() + ": " + *names.begin() +
                            (names.size() > 1 ? " and " + counted(names.size() - 1, "other") : "") +
                            " of the index is not in it");
  }
  return ok();
}

struct FolderFiles {
  std::vector<fs::path> indexes, safetensors, torch, npz, npy, onnx;
};

Result<FolderFiles> list_files(const fs::path& folder) {
  FolderFiles files;
  std::error_code fault;
  std::size_t count = 0;
  fs::recursive_directory_iterator at(folder, fs::directory_options::skip_permission_denied, fault), end;
  for (; !fault && at != end; at.increment(fault)) {
    if (++count > kMostFiles)
      return Error(Code::limit, folder.string() + ": more than " + std::to_string(kMostFiles) + " files");
    if (at.depth() >= kMostDepth) at.disable_recursion_pending();
    std::error_code ignored;
    if (!at->is_regular_file(ignored)) continue;
    const fs::path& path = at->path();
    if (path.extension() == ".npy") files.npy.push_back(path);
    if (at.depth() > 0) continue;
    const std::string name = path.filename();
    if (name.ends_with(".index.json"))
      files.indexes.push_back(path);
    else if (path.extension() == ".safetensors")
      files.safetensors.push_back(path);
    else if (path.extension() == ".onnx")
      files.onnx.push_back(path);
    else if (path.extension() == ".npz")
      files.npz.push_back(path);
    else if (const std::string ending = path.extension();
             (ending == ".pt" || ending == ".pth" || ending == ".ckpt" || ending == ".bin") &&
             find_weight_file(path) == WeightFile::torch)
      files.torch.push_back(path);
  }
  if (fault) return Error(Code::io, folder.string() + ": " + fault.message());
  for (auto* list : {&files.indexes, &files.safetensors, &files.torch, &files.npz, &files.npy, &files.onnx})
    std::ranges::sort(*list, NaturalLess(), [](const fs::path& path) { return path.string(); });
  return files;
}

// Files of a trainer beside the model: "optimizer.pt", "scheduler.pt", "rng_state_0.pth".
std::string training_prefix(const fs::path& path) {
  const std::string stem = to_lower(path.stem().string());
  if (stem.starts_with("optim")) return "optimizer.";
  if (stem.starts_with("scheduler") || stem.starts_with("scaler")) return "scheduler.";
  if (stem.starts_with("rng_state") || stem.starts_with("random_states")) return "rng_state.";
  if (stem.starts_with("training_args")) return "scheduler.";
  return {};
}

Result<> read_files(const fs::path& folder, const FolderFiles& files, Checkpoint& to) {
  const bool has_index = !files.indexes.empty();
  // Of a model that is there in both formats one is read: that of which safetensors is.
  const auto index = std::ranges::find_if(
      files.indexes, [](const fs::path& path) { return path.string().ends_with(".safetensors.index.json"); });
  const bool has_safetensors = index != files.indexes.end() || !files.safetensors.empty();
  if (has_index && (index != files.indexes.end() || files.safetensors.empty())) {
    OPDUMP_CHECK_OK(read_index(index != files.indexes.end() ? *index : files.indexes.front(), to));
  } else {
    for (const fs::path& path : files.safetensors) read_weight_file(path, WeightFile::safetensors, "", to);
  }
  const bool has_model = has_safetensors || has_index;
  for (const fs::path& path : files.torch) {
    const std::string prefix = training_prefix(path);
    if (prefix.empty() && has_model) {
      if (!has_index)
        to.remarks.push_back(path.filename().string() + " is not read: there is a .safetensors beside it");
      continue;
    }
    read_weight_file(path, WeightFile::torch, prefix, to);
  }
  for (const fs::path& path : files.npz) read_weight_file(path, WeightFile::npz, "", to);
  for (const fs::path& path : files.onnx) read_weight_file(path, WeightFile::onnx, "", to);
  for (const fs::path& path : files.npy) {
    std::string prefix = fs::relative(path.parent_path(), folder).string();
    std::ranges::replace(prefix, '/', '.');
    read_weight_file(path, WeightFile::npy, prefix == "." ? "" : prefix + ".", to);
  }
  return ok();
}

// Tensors of several files may have one name; then the later ones get a number.
void make_names_differ(Checkpoint& checkpoint) {
  std::set<std::string> names;
  for (WeightTensor& tensor : checkpoint.tensors) {
    if (names.insert(tensor.name).second) continue;
    checkpoint.problems.push_back(checkpoint.path + ": it has " + tensor.name + " twice");
    std::size_t number = 2;
    while (!names.insert(tensor.name + " (" + std::to_string(number) + ")").second) ++number;
    tensor.name += " (" + std::to_string(number) + ")";
  }
}

}  // namespace

Result<Checkpoint> read_checkpoint(const fs::path& path) {
  Checkpoint checkpoint;
  checkpoint.path = path.string();
  std::error_code fault;
  const fs::file_status status = fs::status(path, fault);
  if (!fs::exists(status)) return Error(Code::not_found, path.string() + ": there is no such file or folder");
  if (fs::is_directory(status)) {
    if (is_recorded_dump(path)) {
      OPDUMP_CHECK_OK(read_dump_weights(path, checkpoint));
    } else {
      OPDUMP_TRY(const FolderFiles files, list_files(path));
      OPDUMP_CHECK_OK(read_files(path, files, checkpoint));
    }
  } else {
    const WeightFile kind = find_weight_file(path);
    if (kind == WeightFile::none)
      return Error(Code::unsupported,
                   path.string() + ": no file with weights (.safetensors, .pt, .npz, .npy, .onnx)");
    if (kind == WeightFile::index) {
      OPDUMP_CHECK_OK(read_index(path, checkpoint));
    } else {
      read_weight_file(path, kind, training_prefix(path), checkpoint);
    }
  }
  if (checkpoint.tensors.empty() && checkpoint.problems.empty())
    return Error(Code::unsupported, path.string() + ": no weights in it");
  make_names_differ(checkpoint);
  return checkpoint;
}

}  // namespace opdump::weights
