#include "dump/read/files/msprobe_files.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "base/text/text.h"
#include "dump/read/files/container_files.h"
#include "dump/read/files/file_kind.h"
#include "dump/read/files/listed_call.h"
#include "format/tables/msprobe.h"

namespace opdump::dump {
namespace fs = std::filesystem;
namespace {

constexpr std::uint64_t kMaxJsonBytes = std::uint64_t{1} << 30;

// What a file beside dump.json says, if it is there.
template <typename Decode>
auto read_beside(const fs::path& path, Decode decode, Problems& problems) {
  using Value = std::decay_t<decltype(*decode(std::string_view()))>;
  std::error_code failed;
  if (!fs::is_regular_file(fs::symlink_status(path, failed))) return Value();
  const auto text = read_file(path, kMaxJsonBytes);
  auto value = text ? decode(*text) : decltype(decode(std::string_view()))(text.error());
  if (value) return std::move(*value);
  problems.push_back({path, value.error().message()});
  return Value();
}

class MsprobeStep {
 public:
  MsprobeStep(const fs::path& path, Problems& problems)
      : directory_(path.parent_path()),
        problems_(problems),
        parents_(read_beside(directory_ / "construct.json", format::decode_msprobe_construct, problems)),
        stacks_(read_beside(directory_ / "stack.json", format::decode_msprobe_stacks, problems)) {}

  OperatorRun run_of(const std::string& name, std::vector<format::MsprobeTensor> tensors,
                     std::string arguments) {
    const format::MsprobeName parsed = format::parse_msprobe_name(name);
    OperatorRun run;
    run.type = parsed.type;
    run.name = name;
    run.op = std::make_shared<const LoggedOperator>(operator_of(name, parsed));
    run.form = std::make_shared<const CallForm>(CallForm{.arguments = std::move(arguments)});
    for (format::MsprobeTensor& tensor : tensors) run.slots.push_back(slot_of(std::move(tensor)));
    std::ranges::stable_sort(run.slots, {},
                             [](const Slot& slot) { return SlotStore::place(slot.side, slot.index); });
    return run;
  }

 private:
  LoggedOperator operator_of(const std::string& name, const format::MsprobeName& parsed) const {
    LoggedOperator op;
    op.type = parsed.type;
    op.phase = parsed.phase;
    op.graph_id = model::kAnyGraph;
    std::string module = parsed.module;
    if (const auto parent = parents_.find(name); parent != parents_.end()) {
      if (module.empty()) module = format::parse_msprobe_name(parent->second).module;
      if (parent->second == "optimizer" || parent->second == "clip_grad") op.phase = model::Phase::optimizer;
    }
    std::ranges::replace(module, '.', '/');
    op.name = module.empty() ? name : module + "/" + name;
    if (const auto stack = find_stack(name); stack != stacks_.by_name.end())
      op.stack = stacks_.stacks[stack->second];
    set_source(op);
    return op;
  }

  // Only calls forward have a stack, and theirs led to the calls backward.
  std::map<std::string, std::size_t>::const_iterator find_stack(const std::string& name) const {
    constexpr std::string_view kBackward = ".backward";
    const auto known = stacks_.by_name.find(name);
    const std::size_t at = name.rfind(kBackward);
    if (known != stacks_.by_name.end() || at == std::string::npos) return known;
    return stacks_.by_name.find(std::string(name).replace(at, kBackward.size(), ".forward"));
  }

  Slot slot_of(format::MsprobeTensor tensor) {
    const std::string data_name = std::move(tensor.data_name);
    Slot slot = slot_of_listed(std::move(tensor));
    std::string fault = place_data(data_name, slot);
    if (!fault.empty()) problems_.push_back({directory_ / kMsprobeData / data_name, fault});
    if (slot.file.empty() && slot.statistics.empty())
      slot.undumped_reason = fault.empty() ? "no statistics of its dtype" : std::move(fault);
    return slot;
  }

  // Returns what is wrong.
  std::string place_data(const std::string& name, Slot& slot) const {
    if (name.empty()) return {};
    if (name.find('/') != std::string::npos || name.find('\0') != std::string::npos || name == "..")
      return "not the name of a file in dump_tensor_data; not read";
    const fs::path path = directory_ / kMsprobeData / name;
    std::error_code failed;
    const fs::file_status status = fs::symlink_status(path, failed);
    if (!fs::exists(status)) return "missing file";
    if (!fs::is_regular_file(status) || fs::is_symlink(fs::symlink_status(path.parent_path(), failed)))
      return "not a regular file; not read";
    if (name.ends_with(kNpyExtension)) {
      slot.file = path;
      return {};
    }
    return place_torch_tensor(path, slot);
  }

  fs::path directory_;
  Problems& problems_;
  std::map<std::string, std::string> parents_;
  format::MsprobeStacks stacks_;
};

}  // namespace

void read_msprobe_files(const fs::path& path, Problems& problems, const TakeRun& take) {
  const auto text = read_file(path, kMaxJsonBytes);
  if (!text) return problems.push_back({path, text.error().message()});
  MsprobeStep step(path, problems);
  const auto odd = format::decode_msprobe_dump(
      *text, [&](const std::string& name, std::vector<format::MsprobeTensor> tensors, std::string arguments) {
        take(step.run_of(name, std::move(tensors), std::move(arguments)));
      });
  if (!odd) problems.push_back({path, odd.error().message()});
  if (odd && *odd > 0) problems.push_back({path, std::to_string(*odd) + " damaged entries"});
}

}  // namespace opdump::dump
