#include "compare/pairing.h"

#include <algorithm>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "dump/file_name.h"

namespace opdump::compare {
namespace {

using dump::OperatorRun;
using dump::Slot;

struct Frame {
  std::int64_t rank = 0, step = 0, graph = 0;      // the order of a dump
  auto operator<=>(const Frame&) const = default;  // NOLINT(modernize-use-nullptr): not a pointer
};

// Takes the frame of a run; a field that has one value on each side is the same for all.
struct FrameRule {
  bool rank = true, graph = true, step = true;

  Frame of(const OperatorRun& run) const {
    return {rank ? static_cast<std::int64_t>(run.rank) : 0, step ? run.step : 0, graph ? run.graph_id : 0};
  }
  Frame without_graph(const OperatorRun& run) const {
    Frame frame = of(run);
    frame.graph = 0;
    return frame;
  }
};

template <typename Field>
std::optional<std::int64_t> single_value(std::span<const OperatorRun> runs, Field field) {
  if (runs.empty()) return std::nullopt;
  const std::int64_t first = field(runs[0]);
  if (std::ranges::all_of(runs, [&](const OperatorRun& run) { return field(run) == first; })) return first;
  return std::nullopt;
}

// True if the field must be equal. Adds a note where two single values differ.
template <typename Field>
bool needs_equal(std::string_view name, std::span<const OperatorRun> golden,
                 std::span<const OperatorRun> actual, Field field, std::vector<std::string>& notes) {
  const auto g = single_value(golden, field), a = single_value(actual, field);
  if (!g || !a) return true;
  if (*g != *a)
    notes.push_back(std::string(name) + " " + std::to_string(*g) + " of golden is compared with " +
                    std::string(name) + " " + std::to_string(*a) + " of actual, the only one there");
  return false;
}

// Indices of runs by key, each list in order of execution.
template <typename Key>
class Waiting {
 public:
  void add(Key key, std::size_t index) { lists_[std::move(key)].indices.push_back(index); }

  std::optional<std::size_t> take(const Key& key) {
    const auto found = lists_.find(key);
    if (found == lists_.end() || found->second.taken == found->second.indices.size()) return std::nullopt;
    return found->second.indices[found->second.taken++];
  }

 private:
  struct List {
    std::vector<std::size_t> indices;
    std::size_t taken = 0;
  };
  std::map<Key, List> lists_;
};

std::string shape_text(const Slot& slot) {
  if (slot.shape) return model::format_shape(*slot.shape);
  if (slot.file.empty()) return "?";
  const auto tensor = dump::StoredTensor::read(slot);
  return tensor ? model::format_shape(tensor->view().shape) : "?";
}

// What two operators of different names must have in common to be taken for the same one.
std::string signature(const OperatorRun& run) {
  std::string text = scope_of(run) + '\n' + run.type;
  for (const Slot& slot : run.slots) {
    text += slot.side == model::Side::input ? "\ni" : "\no";
    text += std::to_string(slot.index) + shape_text(slot);
  }
  return text;
}

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

// partner[g] is the index in actual, or kNone.
struct Partners {
  std::vector<std::size_t> of_golden, of_actual;

  void join(std::size_t g, std::size_t a) {
    of_golden[g] = a;
    of_actual[a] = g;
  }
};

// Joins what has no partner yet and agrees in frame and key, in order of execution.
template <typename KeyOf>
void join_equal(std::span<const OperatorRun> golden, std::span<const OperatorRun> actual,
                const FrameRule& rule, Partners& partners, const KeyOf& key_of) {
  Waiting<std::pair<Frame, std::string>> waiting;
  for (std::size_t a = 0; a < actual.size(); ++a)
    if (partners.of_actual[a] == kNone) waiting.add({rule.of(actual[a]), key_of(actual[a])}, a);
  for (std::size_t g = 0; g < golden.size(); ++g)
    if (partners.of_golden[g] == kNone)
      if (const auto a = waiting.take({rule.of(golden[g]), key_of(golden[g])})) partners.join(g, *a);
}

std::set<Frame> steps_of(std::span<const OperatorRun> runs, const FrameRule& rule) {
  std::set<Frame> steps;
  for (const OperatorRun& run : runs) steps.insert(rule.without_graph(run));
  return steps;
}

// A single tensor, which is called as its file happens to be.
bool is_loose(std::span<const OperatorRun> runs) {
  return runs.size() == 1 && runs[0].op == nullptr && runs[0].type.empty() && runs[0].slots.size() == 1;
}

// Two files that hold a tensor each are about the same one.
void join_loose(std::span<const OperatorRun> golden, std::span<const OperatorRun> actual, Partners& partners,
                std::vector<std::string>& notes) {
  if (!is_loose(golden) || !is_loose(actual) || partners.of_golden[0] != kNone) return;
  partners.join(0, 0);
  notes.push_back(golden[0].name + " of golden is compared with " + actual[0].name +
                  " of actual, the only tensor there");
}

// Golden in order; before golden[i] the extras that ran after golden[i - 1]'s partner.
std::vector<OperatorPair> in_order(std::span<const OperatorRun> golden, std::span<const OperatorRun> actual,
                                   const FrameRule& rule, const Partners& partners) {
  std::vector<std::vector<std::size_t>> before(golden.size() + 1);
  const auto frame = [&](const OperatorRun& run) { return rule.of(run); };
  for (std::size_t a = 0, anchor = 0; a < actual.size(); ++a) {
    if (a == 0 || frame(actual[a]) != frame(actual[a - 1]))
      anchor = static_cast<std::size_t>(std::ranges::lower_bound(golden, frame(actual[a]), {}, frame) -
                                        golden.begin());
    if (partners.of_actual[a] == kNone)
      before[anchor].push_back(a);
    else
      anchor = partners.of_actual[a] + 1;
  }
  const auto golden_steps = steps_of(golden, rule), actual_steps = steps_of(actual, rule);
  std::vector<OperatorPair> pairs;
  for (std::size_t g = 0; g <= golden.size(); ++g) {
    for (const std::size_t a : before[g])
      pairs.push_back({nullptr, &actual[a], !golden_steps.contains(rule.without_graph(actual[a]))});
    if (g == golden.size()) break;
    const std::size_t a = partners.of_golden[g];
    if (a == kNone)
      pairs.push_back({&golden[g], nullptr, !actual_steps.contains(rule.without_graph(golden[g]))});
    else
      pairs.push_back({&golden[g], &actual[a]});
  }
  return pairs;
}

std::string_view without_number(std::string_view name) {
  const std::size_t end = name.find_last_not_of("0123456789");
  if (end == std::string_view::npos || !name.substr(0, end + 1).ends_with("op")) return name;
  name = name.substr(0, end - 1);
  while (name.ends_with('-') || name.ends_with('_')) name.remove_suffix(1);
  return name;
}

}  // namespace

std::string scope_of(const OperatorRun& run) {
  if (run.op != nullptr) {
    const std::size_t slash = run.op->name.rfind('/');
    return slash == std::string::npos ? std::string() : model::sanitise_name(run.op->name.substr(0, slash));
  }
  std::string_view name = without_number(run.name);
  if (name.ends_with(run.type)) {
    name.remove_suffix(run.type.size());
    while (name.ends_with('_')) name.remove_suffix(1);
    return std::string(name);
  }
  const std::size_t piece = name.rfind('_');
  return std::string(piece == std::string_view::npos ? std::string_view() : name.substr(0, piece));
}

namespace {

// Whether graphs are parts of a step. Otherwise each step is an execution of one graph, and which number a
// graph has depends on the steps that were run before.
bool have_graphs_in_common_steps(std::span<const OperatorRun> runs) {
  std::map<std::pair<std::uint32_t, std::int64_t>, std::int64_t> graphs;
  return std::ranges::any_of(runs, [&](const OperatorRun& run) {
    return graphs.try_emplace({run.rank, run.step}, run.graph_id).first->second != run.graph_id;
  });
}

}  // namespace

Pairing pair_operators(std::span<const OperatorRun> golden, std::span<const OperatorRun> actual) {
  Pairing pairing;
  const FrameRule rule{
      needs_equal(
          "rank", golden, actual, [](const OperatorRun& r) { return std::int64_t{r.rank}; }, pairing.notes),
      needs_equal(
          "graph", golden, actual, [](const OperatorRun& r) { return r.graph_id; }, pairing.notes) &&
          (have_graphs_in_common_steps(golden) || have_graphs_in_common_steps(actual)),
      needs_equal(
          "step", golden, actual, [](const OperatorRun& r) { return r.step; }, pairing.notes)};
  Partners partners{std::vector(golden.size(), kNone), std::vector(actual.size(), kNone)};

  join_equal(golden, actual, rule, partners, [](const OperatorRun& run) { return run.name; });
  // Layouts spell a name with more or with fewer characters of the program's.
  join_equal(golden, actual, rule, partners,
             [](const OperatorRun& run) { return dump::plain_name(run.name); });

  // A model that is loaded in another order has another number.
  FrameRule any_graph = rule;
  any_graph.graph = false;
  join_equal(golden, actual, any_graph, partners, [](const OperatorRun& run) { return run.name; });

  join_loose(golden, actual, partners, pairing.notes);
  // Shapes may have to be read from files: only for what names did not settle.
  std::set<Frame> open_frames;
  for (std::size_t g = 0; g < golden.size(); ++g)
    if (partners.of_golden[g] == kNone) open_frames.insert(rule.of(golden[g]));
  join_equal(golden, actual, rule, partners, [&](const OperatorRun& run) {
    return open_frames.contains(rule.of(run)) ? signature(run) : std::string();
  });

  pairing.pairs = in_order(golden, actual, rule, partners);
  return pairing;
}

std::vector<SlotPair> pair_slots(const OperatorRun& golden, const OperatorRun& actual) {
  // Where both sides know what operands are called, an absent one does not shift those after it.
  const auto has_names = [](const OperatorRun& run) {
    return std::ranges::any_of(run.slots, [](const Slot& slot) { return !slot.argument.empty(); });
  };
  const bool by_name = has_names(golden) && has_names(actual);
  using Place = std::tuple<model::Side, std::string_view, std::uint32_t>;
  // place, how many of the same came before
  std::map<std::pair<Place, std::size_t>, SlotPair> pairs;
  const auto add = [&](const OperatorRun& run, const Slot* SlotPair::*side) {
    std::map<Place, std::size_t> seen;
    for (const Slot& slot : run.slots) {
      const bool is_named = by_name && !slot.argument.empty();
      const Place place{slot.side, is_named ? slot.argument : std::string_view(), is_named ? 0 : slot.index};
      pairs[{place, seen[place]++}].*side = &slot;
    }
  };
  add(golden, &SlotPair::golden);
  add(actual, &SlotPair::actual);
  std::vector<SlotPair> list;
  list.reserve(pairs.size());
  for (const auto& [key, pair] : pairs) list.push_back(pair);
  return list;
}

}  // namespace opdump::compare
