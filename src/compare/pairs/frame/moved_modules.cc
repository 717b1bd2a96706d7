#include "compare/pairs/frame/moved_modules.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <utility>

#include "base/text/text.h"
#include "compare/names.h"
#include "model/operator.h"

namespace opdump::compare {

using dump::Runs;

namespace {

constexpr std::size_t kMostMoves = 16;
constexpr std::size_t kMostLikeOne = 64;  // modules of one suffix that are tried for one of the other side
constexpr std::string_view kRoot = "Default/";

// An operator's name in parts: "Gradients/Default/" + "module-Net/fc-Linear" + "/addmm-op0".
struct NameParts {
  std::string_view head, modules, last;
};

// Nothing for names that our adapters do not make.
std::optional<NameParts> split_name(std::string_view name) {
  std::size_t begin = name.starts_with(model::kGradients) ? model::kGradients.size() : 0;
  if (!name.substr(begin).starts_with(kRoot)) return std::nullopt;
  begin += kRoot.size();
  const std::size_t slash = name.rfind('/');
  if (slash < begin) return NameParts{name.substr(0, begin), {}, name.substr(begin)};
  return NameParts{name.substr(0, begin), name.substr(begin, slash - begin), name.substr(slash + 1)};
}

// "module/fc" of "module-Net/fc-Linear".
std::string without_classes(std::string_view modules) {
  std::string path;
  for (const std::string_view piece : split(modules, '/')) {
    if (!path.empty()) path += '/';
    path += piece.substr(0, piece.rfind('-'));
  }
  return path;
}

std::string join_paths(std::string_view a, std::string_view b) {
  return std::string(a) + (a.empty() || b.empty() ? "" : "/") + std::string(b);
}

// "Linear" of "module-Net/fc-Linear".
std::string_view class_of(std::string_view modules) {
  const std::string_view last = modules.substr(modules.rfind('/') + 1);
  const std::size_t dash = last.rfind('-');
  return dash == std::string_view::npos ? std::string_view() : last.substr(dash + 1);
}

// What is left of a path behind a place that it is in.
std::optional<std::string_view> below(std::string_view path, std::string_view place) {
  if (place.empty()) return path;
  if (!path.starts_with(place)) return std::nullopt;
  if (path.size() == place.size()) return std::string_view();
  return path[place.size()] == '/' ? std::optional(path.substr(place.size() + 1)) : std::nullopt;
}

// The types of the operators of a module with their numbers.
using Types = std::map<std::string, std::uint64_t, std::less<>>;
// The modules of a run by their paths; those without operators of their own, too.
using Modules = std::map<std::string, Types, std::less<>>;

using Spellings = std::map<std::string, std::string, std::less<>>;  // by path

struct Tree {
  Modules modules;
  Spellings spelt;
};

Tree read_tree(const Runs& runs) {
  Tree tree;
  std::map<std::uint32_t, bool> seen;  // by number of the operator
  for (std::uint32_t i = 0; i < runs.size(); ++i) {
    if (const std::uint32_t number = runs.operator_number(i);
        number == 0 || !seen.emplace(number, true).second)
      continue;
    const dump::OperatorRun run = runs.without_slots(i);
    if (run.op == nullptr || run.op->phase == model::Phase::optimizer || runs_ahead(run)) continue;
    const auto parts = split_name(run.op->name);
    if (!parts || parts->modules.empty()) continue;
    std::string path = without_classes(parts->modules);
    ++tree.modules[path][run.type];
    std::string_view spelt = parts->modules;
    for (;;) {
      tree.spelt.try_emplace(path, spelt);
      const std::size_t slash = path.rfind('/');
      if (slash == std::string::npos) break;
      path.resize(slash);
      spelt = spelt.substr(0, spelt.rfind('/'));
      tree.modules.try_emplace(path);
    }
  }
  return tree;
}

// How many operators of two modules have the same types, and how many there are.
std::pair<std::uint64_t, std::uint64_t> count_equal(const Types& golden, const Types& actual) {
  std::uint64_t equal = 0, all = 0;
  for (const auto& [type, count] : golden) {
    const auto same = actual.find(type);
    equal += same == actual.end() ? 0 : std::min(count, same->second);
    all += count;
  }
  std::uint64_t others = 0;
  for (const auto& [type, count] : actual) others += count;
  return {equal, std::max(all, others)};
}

std::vector<std::string_view> only_in(const Modules& modules, const Modules& others) {
  std::vector<std::string_view> only;
  for (const auto& [path, types] : modules)
    if (!types.empty() && !others.contains(path)) only.push_back(path);
  return only;
}

using Places = std::pair<std::string, std::string>;  // in golden, in actual

// How often a place of golden and one of actual differ by what is above modules of the same names.
std::map<Places, std::uint64_t> count_places(const std::vector<std::string_view>& golden,
                                             const std::vector<std::string_view>& actual) {
  std::map<std::string_view, std::vector<std::string_view>> by_suffix;
  const auto for_each_suffix = [](std::string_view path, const auto& take) {  // the longest first
    for (std::size_t begin = 0;;) {
      if (!take(path.substr(begin))) return;
      const std::size_t slash = path.find('/', begin);
      if (slash == std::string_view::npos) return;
      begin = slash + 1;
    }
  };
  for (const std::string_view path : actual)
    for_each_suffix(path, [&](std::string_view suffix) { return by_suffix[suffix].push_back(path), true; });
  const auto above = [](std::string_view path, std::string_view suffix) {
    path.remove_suffix(suffix.size());
    if (path.ends_with('/')) path.remove_suffix(1);
    return std::string(path);
  };
  std::map<Places, std::uint64_t> counts;
  for (const std::string_view path : golden)
    for_each_suffix(path, [&](std::string_view suffix) {
      const auto found = by_suffix.find(suffix);
      if (found == by_suffix.end() || found->second.size() > kMostLikeOne) return true;
      for (const std::string_view other : found->second)
        ++counts[{above(path, suffix), above(other, suffix)}];
      return false;
    });
  return counts;
}

// How well golden's modules at one place are those of actual at another one.
struct PlaceFit {
  std::uint64_t modules = 0, equal = 0, operators = 0;
  bool is_good() const { return modules > 0 && 2 * equal >= operators; }
};

PlaceFit fit(const Modules& golden, const Modules& actual, const Places& places) {
  PlaceFit fit;
  for (const auto& [path, types] : golden) {
    const auto rest = below(path, places.first);
    if (!rest || rest->empty() || types.empty()) continue;
    const auto other = actual.find(join_paths(places.second, *rest));
    if (other == actual.end()) continue;
    const auto [equal, all] = count_equal(types, other->second);
    ++fit.modules;
    fit.equal += equal;
    fit.operators += all;
  }
  return fit;
}

// Whether the module of a path has mostly operators of the same types in both runs.
bool are_alike(const Modules& golden, const Modules& actual, std::string_view path) {
  const auto g = golden.find(path), a = actual.find(path);
  if (g == golden.end() || a == actual.end()) return false;
  const auto [equal, all] = count_equal(g->second, a->second);
  return all > 0 && 2 * equal >= all;
}

// The modules as they are called after a move.
Modules moved(const Modules& modules, std::string_view from, std::string_view to) {
  Modules result;
  for (const auto& [path, types] : modules) {
    const auto rest = below(path, from);
    Types& sum = result[rest ? join_paths(to, *rest) : path];
    for (const auto& [type, count] : types) sum[type] += count;
  }
  return result;
}

// The steps in which modules run, by path.
using StepsByModule = std::map<std::string, std::set<std::int64_t>, std::less<>>;

StepsByModule read_steps(const Runs& runs) {
  StepsByModule steps;
  std::map<std::uint32_t, std::set<std::int64_t>*> by_operator;
  for (std::uint32_t i = 0; i < runs.size(); ++i) {
    const std::uint32_t number = runs.operator_number(i);
    if (number == 0) continue;
    auto found = by_operator.find(number);
    if (found == by_operator.end()) {
      const dump::OperatorRun run = runs.without_slots(i);
      const auto parts = run.op != nullptr && run.op->phase != model::Phase::optimizer && !runs_ahead(run)
                             ? split_name(run.op->name)
                             : std::nullopt;
      std::set<std::int64_t>* const of_module =
          parts && !parts->modules.empty() ? &steps[without_classes(parts->modules)] : nullptr;
      found = by_operator.emplace(number, of_module).first;
    }
    if (found->second != nullptr) found->second->insert(runs.section_of(i).step);
  }
  return steps;
}

// Whether the modules below `place` take the place of those below the root: these run in no step in which
// those do, and in all these steps they run in the other run. Views are listed in one step only, so that a
// module may seem to run less often than its neighbours.
bool takes_over(const StepsByModule& steps, const StepsByModule& others, std::string_view place) {
  std::set<std::int64_t> now, before, of_other;
  for (const auto& [path, of_path] : steps) {
    const auto rest = below(path, place);
    if (!rest || rest->empty()) continue;
    now.insert(of_path.begin(), of_path.end());
    if (const auto first = steps.find(*rest); first != steps.end())
      before.insert(first->second.begin(), first->second.end());
    if (const auto other = others.find(*rest); other != others.end())
      of_other.insert(other->second.begin(), other->second.end());
  }
  return std::ranges::includes(of_other, now) &&
         std::ranges::none_of(now, [&](std::int64_t step) { return before.contains(step); });
}

// The outermost modules that only one run has.
std::vector<std::string> roots_only_in(const Modules& modules, const Modules& others) {
  std::vector<std::string> roots;
  for (const auto& [path, types] : modules)
    if (path.find('/') == std::string::npos && !others.contains(path)) roots.push_back(path);
  return roots;
}

// A program that builds its model anew, as to go on from a checkpoint, has the second one under its class.
// Such places with the modules that are below them, which `tree` then lacks.
std::vector<std::pair<std::string, std::uint64_t>> take_successors(const Runs& runs, Tree& tree,
                                                                   const Runs& others, const Tree& of_other) {
  std::vector<std::pair<std::string, std::uint64_t>> found;
  const std::vector<std::string> roots = roots_only_in(tree.modules, of_other.modules);
  if (roots.empty()) return found;
  const StepsByModule steps = read_steps(runs), other_steps = read_steps(others);
  for (const std::string& root : roots) {
    const PlaceFit here = fit(of_other.modules, tree.modules, {"", root});
    if (!here.is_good() || !takes_over(steps, other_steps, root)) continue;
    std::erase_if(tree.modules, [&](const auto& module) { return below(module.first, root).has_value(); });
    found.emplace_back(root, here.modules);
  }
  return found;
}

}  // namespace

MovedModules MovedModules::find(const Runs& golden, const Runs& actual) {
  MovedModules found;
  if (!golden.have_full_scopes() || !actual.have_full_scopes()) return found;
  Tree of_golden = read_tree(golden), of_actual = read_tree(actual);
  for (auto& [root, modules] : take_successors(golden, of_golden, actual, of_actual))
    found.moves_.push_back({.side = RunSide::golden, .from = root, .to = "", .modules = modules});
  for (auto& [root, modules] : take_successors(actual, of_actual, golden, of_golden))
    found.moves_.push_back({.side = RunSide::actual, .from = root, .to = "", .modules = modules});
  while (found.moves_.size() < kMostMoves) {
    const auto counts = count_places(only_in(of_golden.modules, of_actual.modules),
                                     only_in(of_actual.modules, of_golden.modules));
    const Places* best = nullptr;
    PlaceFit best_fit;
    for (const auto& [places, count] : counts) {
      const PlaceFit here = fit(of_golden.modules, of_actual.modules, places);
      if (!here.is_good() || here.modules <= best_fit.modules) continue;
      best = &places;
      best_fit = here;
    }
    if (best == nullptr) break;
    // What has no counterpart below the root would move, too: the side that lies deeper does.
    const bool is_golden_deeper = best->second.empty();
    Move move{.side = is_golden_deeper ? RunSide::golden : RunSide::actual,
              .from = is_golden_deeper ? best->first : best->second,
              .to = is_golden_deeper ? best->second : best->first,
              .modules = best_fit.modules};
    Tree& tree = is_golden_deeper ? of_golden : of_actual;
    const Tree& other = is_golden_deeper ? of_actual : of_golden;
    if (const auto spelt = other.spelt.find(move.to); spelt != other.spelt.end()) move.spelt = spelt->second;
    tree.modules = moved(tree.modules, move.from, move.to);
    found.moves_.push_back(std::move(move));
  }
  for (const auto& [path, spelt] : of_actual.spelt) {
    const std::string modules = found.after_moves(spelt, RunSide::actual), place = without_classes(modules);
    const auto other = of_golden.spelt.find(place);
    if (other == of_golden.spelt.end() || other->second == modules ||
        !are_alike(of_golden.modules, of_actual.modules, place))
      continue;
    found.spellings_.emplace(place, other->second);
    const std::string_view mine = class_of(modules), theirs = class_of(other->second);
    if (mine == theirs) continue;  // a module around it is of another class
    std::string dotted = place;
    std::ranges::replace(dotted, '/', '.');
    found.other_classes_.push_back("`" + dotted + "` is of class " + std::string(theirs) + " in golden and " +
                                   std::string(mine) + " in actual");
  }
  return found;
}

std::string MovedModules::after_moves(std::string_view modules, RunSide side) const {
  std::string now(modules);
  for (const Move& move : moves_) {
    if (move.side != side || !below(without_classes(now), move.from)) continue;
    // As many pieces of the name as the place has.
    std::size_t begin = 0;
    for (auto pieces = std::ranges::count(move.from, '/') + 1; pieces > 0 && begin != std::string::npos;
         --pieces)
      if (begin = now.find('/', begin); begin != std::string::npos) ++begin;
    now = join_paths(move.spelt,
                     begin == std::string::npos ? std::string_view() : std::string_view(now).substr(begin));
  }
  return now;
}

std::optional<std::string> MovedModules::rename(std::string_view name, RunSide side) const {
  const auto parts = split_name(name);
  if (!parts || parts->modules.empty()) return std::nullopt;
  std::string modules = after_moves(parts->modules, side);
  if (side == RunSide::actual && !spellings_.empty())
    if (const auto other = spellings_.find(without_classes(modules)); other != spellings_.end())
      modules = other->second;
  if (modules == parts->modules) return std::nullopt;
  return std::string(parts->head) + modules + (modules.empty() ? "" : "/") + std::string(parts->last);
}

std::vector<std::string> MovedModules::notes() const {
  const auto place = [](const std::string& path, std::string_view side) {
    std::string name = path;
    std::ranges::replace(name, '/', '.');
    return (name.empty() ? "the root" : "`" + name + "`") + " of " + std::string(side);
  };
  std::vector<std::string> notes;
  for (const Move& move : moves_) {
    const bool is_of_golden = move.side == RunSide::golden;
    notes.push_back(place(is_of_golden ? move.from : move.to, "golden") + " is " +
                    place(is_of_golden ? move.to : move.from, "actual") + ": " +
                    counted(move.modules, "module", "are") + " paired so");
  }
  constexpr std::size_t kMostNamed = 3;
  for (std::size_t i = 0; i < std::min(other_classes_.size(), kMostNamed); ++i)
    notes.push_back(other_classes_[i]);
  if (other_classes_.size() > kMostNamed)
    notes.back() += ", and " + std::to_string(other_classes_.size() - kMostNamed) + " more modules likewise";
  return notes;
}

}  // namespace opdump::compare
