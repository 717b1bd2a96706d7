#include "compare/rules/forward_cover.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <string>

#include "compare/facts/operator_kind.h"
#include "compare/names.h"
#include "compare/wiring/content.h"

namespace opdump::compare {
namespace {

constexpr std::string_view kRoot = "Default/";

// The module of an operator or of its backward pass, as its path: "Default/net-Net/fc-Linear"; "" for what is
// in none.
std::string_view path_of(std::string_view name) {
  const std::size_t begin = name.find(kRoot), end = name.rfind('/');
  if (begin == std::string_view::npos || end < begin + kRoot.size()) return {};
  return name.substr(begin, end - begin);
}

bool is_inside(std::string_view path, std::string_view module) {
  return path.starts_with(module) && (path.size() == module.size() || path[module.size()] == '/');
}

}  // namespace

void ForwardCover::OfRun::add(const dump::OperatorRun& run, bool is_paired) {
  if (phase_of(run) != model::Phase::forward) return;
  if (kind_of(run.type).role != OperatorRole::computes) return;
  const std::string& name = operator_name(run);
  // Engines name what they make of a model's operators as they like: only names of programs have modules.
  // What is in no module, data and losses, proves nothing of the model.
  const std::string_view path = path_of(name);
  if (!name.starts_with(kRoot) || path.empty()) return;
  auto found = modules.find(path);
  if (found == modules.end()) found = modules.emplace(path, Module()).first;
  ++found->second.operators;
  found->second.is_covered |= is_paired;
}

void ForwardCover::OfRun::cover_by_readers(const Wiring& wiring, const std::vector<bool>& paired) {
  const dump::Runs& runs = wiring.runs();
  struct Part {
    std::uint64_t operators = 0;
    bool is_shown = false, is_hidden = false, gives_tensors = false;
  };
  std::map<std::string, Part, std::less<>> parts;  // each module with all that is inside it
  std::uint64_t all = 0;
  const auto for_each_around = [](std::string_view path, const auto& take) {
    for (std::string_view outer = path; outer.size() > kRoot.size();
         outer = outer.substr(0, outer.rfind('/')))
      take(outer);
  };
  for (const auto& entry : modules) {
    all += entry.second.operators;
    for_each_around(entry.first, [&](std::string_view outer) {
      parts.try_emplace(std::string(outer)).first->second.operators += entry.second.operators;
    });
  }
  const auto of_covered = covered();
  std::vector<std::string> paths;
  for (std::uint32_t i = 0; i < runs.size(); ++i)
    paths.emplace_back(path_of(operator_name(runs.without_slots(i))));
  for (std::uint32_t i = 0; i < runs.size(); ++i) {
    if (paths[i].empty()) continue;
    const bool is_forward = phase_of(runs.without_slots(i)) == model::Phase::forward;
    for (const dump::Slot& slot : runs.slots(i)) {
      if (slot.side != model::Side::output) continue;
      for (const std::uint32_t reader : wiring.likely_readers({i, slot.index}))
        for_each_around(paths[i], [&](std::string_view outer) {
          const auto part = parts.find(outer);
          if (part == parts.end() || is_inside(paths[reader], outer)) return;
          const bool is_shown = paired[reader] || of_covered.contains(paths[reader]);
          (is_shown ? part->second.is_shown : part->second.is_hidden) = true;
          part->second.gives_tensors |= is_forward && element_count_of(slot) > 1;
        });
    }
  }
  for (auto& entry : modules)
    for_each_around(entry.first, [&](std::string_view outer) {
      const Part& part = parts.find(outer)->second;
      const bool is_loss = (part.is_shown || part.is_hidden) && !part.gives_tensors;
      entry.second.is_covered |= (is_loss || (part.is_shown && !part.is_hidden)) && 2 * part.operators <= all;
    });
}

std::set<std::string, std::less<>> ForwardCover::OfRun::covered() const {
  std::set<std::string, std::less<>> paths;
  for (const auto& [path, module] : modules)
    for (std::string_view outer = path; module.is_covered && paths.emplace(outer).second;)
      outer = outer.substr(0, std::min(outer.rfind('/'), outer.size()));
  return paths;
}

double ForwardCover::OfRun::share() const {
  const auto of_covered = covered();
  std::uint64_t all = 0, covered = 0;
  for (const auto& [path, module] : modules) {
    all += module.operators;
    if (of_covered.contains(path)) covered += module.operators;
  }
  return is_covered || all == 0 ? 1 : static_cast<double>(covered) / static_cast<double>(all);
}

void ForwardCover::add(const OperatorComparison& op) {
  const bool is_paired = op.golden != nullptr && op.actual != nullptr;
  if (op.golden != nullptr) golden_.add(*op.golden, is_paired);
  if (op.actual != nullptr) actual_.add(*op.actual, is_paired);
}

double ForwardCover::share() const { return std::min(golden_.share(), actual_.share()); }

}  // namespace opdump::compare
