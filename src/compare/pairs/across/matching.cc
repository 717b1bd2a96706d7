#include "compare/pairs/across/matching.h"

#include <algorithm>
#include <cctype>
#include <compare>
#include <cstddef>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "compare/comparison.h"
#include "compare/pairs/across/module_paths.h"

namespace opdump::compare {
namespace {

constexpr double kSameWeights = 1e-6, kQuantisedWeights = 1e-3;
constexpr std::size_t kMostCells = 1 << 20;  // of an alignment

// Operands by their number of elements and their norm.
class PrintIndex {
 public:
  explicit PrintIndex(bool is_quantised = false) : is_quantised_(is_quantised) {}

  void add(std::uint32_t node, const FlowOperand& operand) {
    if (operand.print && operand.print->is_distinctive())
      by_count_[operand.count].emplace(operand.print->norm, std::pair(node, &operand));
  }

  // Calls `take(node, distance, known)` for those within a limit, of `least` or more, of `operand`.
  template <typename Take>
  void find(const FlowOperand& operand, double least, const Take& take) const {
    if (!operand.print || !operand.print->is_distinctive()) return;
    const auto found = by_count_.find(operand.count);
    if (found == by_count_.end()) return;
    const double norm = operand.print->norm;
    constexpr double kWidest = 0.1;
    for (auto other = found->second.lower_bound(norm * (1 - kWidest));
         other != found->second.end() && other->first <= norm * (1 + kWidest); ++other) {
      const auto& [node, known] = other->second;
      const double limit = std::max({least, 4 * rounding_of(operand), 4 * rounding_of(*known)});
      const double far = (is_quantised_ ? quantised_distance : distance)(*operand.print, *known->print);
      if (far <= limit) take(node, far, *known);
    }
  }

 private:
  static double rounding_of(const FlowOperand& operand) {
    return operand.dtype == model::DType::float16 || operand.dtype == model::DType::bfloat16
               ? default_tolerance(operand.dtype).rtol
               : 0;
  }
  bool is_quantised_;
  std::map<std::uint64_t, std::multimap<double, std::pair<std::uint32_t, const FlowOperand*>>> by_count_;
};

// Many dumps do not know what the optimizer runs.
void drop_optimizers(DataFlow& flow, DataFlow& other) {
  const auto has_one = [](const DataFlow& one) {
    return std::ranges::any_of(one.nodes(), &FlowNode::is_of_optimizer);
  };
  if (has_one(flow) && has_one(other)) return;
  for (DataFlow* one : {&flow, &other})
    for (FlowNode& node : one->nodes()) node.is_of_optimizer = false;
}

// Whether an operator counts or chooses in no module: around its network, each program does that in its own
// way.
bool counts_around(const FlowNode& node) {
  return node.path.empty() && !model::is_floating(node.outputs[0].dtype);
}

}  // namespace

CrossMatch::CrossMatch(DataFlow& golden, DataFlow& actual)
    : golden_(golden),
      actual_(actual),
      golden_partner_(golden.size(), FlowNode::kNone),
      actual_partner_(actual.size(), FlowNode::kNone),
      is_quantised_(golden.is_quantised() != actual.is_quantised()) {
  drop_optimizers(golden_, actual_);
  // Quantising to numbers from 0 on does what these do, so that a quantised model lacks them.
  for (const std::string_view kind : {"relu", "clip"})
    if (is_quantised_ && golden_.count_kind(kind) != actual_.count_kind(kind))
      for (DataFlow* flow : {&golden_, &actual_}) flow->see_through(kind);
  // One framework adds gradients two by two, another one all at once.
  const bool has_long_sums = std::max(golden_.most_terms(), actual_.most_terms()) > 2;
  for (DataFlow* flow : {&golden_, &actual_}) {
    const DataFlow& other = flow == &golden_ ? actual_ : golden_;
    flow->join_biases();
    if (has_long_sums) flow->join_sums();
    if (flow->count_kind("recurrent") > other.count_kind("recurrent")) flow->join_directions();
    if (other.count_kind("batchnorm") == 0) flow->fold_norms();
  }
  align_paths(golden_, actual_);
  number_weights();
}

void CrossMatch::number_weights() {
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint32_t> numbers;  // of golden's, by their elements
  const auto key = [](const FlowOperand& operand) {
    return std::pair(operand.print->exact.count, operand.print->exact.sum);
  };
  const auto is_weight = [](const FlowOperand& operand) {
    return operand.producer == FlowOperand::kNone && operand.print && operand.print->is_distinctive();
  };
  PrintIndex index(is_quantised_);
  for (std::uint32_t g = 0; g < golden_.size(); ++g)
    for (const FlowOperand& input : golden_[g].inputs)
      if (is_weight(input) && numbers.try_emplace(key(input), numbers.size()).second) index.add(g, input);
  std::set<std::uint32_t> common;
  for (FlowNode& node : actual_.nodes()) {
    if (node.kind.role == OperatorRole::moves) continue;  // as what loads weights, which may change since
    for (const FlowOperand& input : node.inputs) {
      double nearest = 1;
      std::optional<std::uint32_t> number;
      if (is_weight(input))
        index.find(input, is_quantised_ ? kQuantisedWeights : kSameWeights,
                   [&](std::uint32_t, double distance, const FlowOperand& known) {
                     if (distance < nearest) nearest = distance, number = numbers.at(key(known));
                   });
      if (number) node.weights.insert(*number), common.insert(*number);
    }
  }
  for (FlowNode& node : golden_.nodes())
    for (const FlowOperand& input : node.inputs)
      if (is_weight(input) && common.contains(numbers.at(key(input))))
        node.weights.insert(numbers.at(key(input)));
  for (DataFlow* flow : {&golden_, &actual_})
    for (FlowNode& node : flow->nodes())
      for (const FlowOperand& input : node.inputs) {
        if (input.producer == FlowNode::kNone) continue;
        const FlowNode& maker = (*flow)[input.producer];
        const bool is_made_of_weights = std::ranges::all_of(
            maker.inputs, [](const FlowOperand& of) { return of.producer == FlowNode::kNone; });
        if (is_made_of_weights) node.made_of.insert(maker.weights.begin(), maker.weights.end());
      }
}

void CrossMatch::declare(std::uint32_t golden, std::uint32_t actual) {
  if (golden != FlowNode::kNone) golden_.nodes()[golden].whole = FlowNode::kNone;
  if (actual != FlowNode::kNone) actual_.nodes()[actual].whole = FlowNode::kNone;
  if (golden != FlowNode::kNone && actual != FlowNode::kNone) return join(golden, actual, PairedBy::map, 1);
  if (golden != FlowNode::kNone) golden_.nodes()[golden].is_left_out = true;
  if (actual != FlowNode::kNone) actual_.nodes()[actual].is_left_out = true;
}

void CrossMatch::match() {
  match_values();
  match_onnx_names();
  match_weights();
  match_data_flow();
  match_between();
  match_paths();
  match_data_flow();
  sees_constants_ = true;
  match_data_flow();
  match_between();
  match_updates();
  match_modules();
  match_order();
  match_data_flow();
  part_equal_units();
  std::ranges::sort(pairs_, {}, &NodePair::golden);
}

void CrossMatch::join(std::uint32_t golden, std::uint32_t actual, PairedBy method, double confidence) {
  golden_partner_[golden] = actual;
  actual_partner_[actual] = golden;
  first_golden_ = std::min(first_golden_, golden);
  first_actual_ = std::min(first_actual_, actual);
  pairs_.push_back({golden, actual, method, static_cast<float>(confidence)});
}

void CrossMatch::join_best(std::vector<Candidate> candidates, PairedBy method) {
  std::ranges::sort(candidates);
  for (const Candidate& candidate : candidates)
    if (is_open_golden(candidate.golden) && is_open_actual(candidate.actual))
      join(candidate.golden, candidate.actual, method, candidate.is_other_kind ? 0.9 : 0.99);
}

void CrossMatch::match_values() {
  PrintIndex index;
  for (std::uint32_t g = 0; g < golden_.size(); ++g)
    if (is_open_golden(g)) index.add(g, golden_[g].outputs[0]);
  std::vector<Candidate> candidates;
  for (std::uint32_t a = 0; a < actual_.size(); ++a) {
    if (!is_open_actual(a)) continue;
    index.find(actual_[a].outputs[0], kNear, [&](std::uint32_t g, double distance, const FlowOperand&) {
      candidates.push_back(
          {golden_[g].kind.name != actual_[a].kind.name, distance, golden_[g].path != actual_[a].path, g, a});
    });
  }
  join_best(std::move(candidates), PairedBy::values);
}

// Pairs two models of ONNX by their names: that of a network and what an engine made of it.
void CrossMatch::match_onnx_names() {
  std::map<std::string, std::uint32_t> names;
  for (std::uint32_t g = 0; g < golden_.size(); ++g)
    if (is_open_golden(g) && !golden_[g].onnx_name.empty()) names.emplace(golden_[g].onnx_name, g);
  for (std::uint32_t a = 0; a < actual_.size(); ++a) {
    const auto same = is_open_actual(a) ? names.find(actual_[a].onnx_name) : names.end();
    if (same != names.end() && is_open_golden(same->second)) join(same->second, a, PairedBy::name, 0.95);
  }
}

// Weights are equal bit by bit, unless an export has folded something into them or they are quantised.
void CrossMatch::match_weights() {
  PrintIndex index(is_quantised_);
  for (std::uint32_t g = 0; g < golden_.size(); ++g)
    if (is_open_golden(g))
      for (const FlowOperand& input : golden_[g].inputs) index.add(g, input);
  std::vector<Candidate> candidates;
  for (std::uint32_t a = 0; a < actual_.size(); ++a) {
    if (!is_open_actual(a)) continue;
    for (const FlowOperand& input : actual_[a].inputs) {
      if (input.producer != FlowNode::kNone) continue;
      index.find(input, is_quantised_ ? kQuantisedWeights : kSameWeights,
                 [&](std::uint32_t g, double distance, const FlowOperand&) {
                   if (are_alike(golden_[g], actual_[a]))
                     candidates.push_back({false, distance, golden_[g].path != actual_[a].path, g, a});
                 });
    }
  }
  join_best(std::move(candidates), PairedBy::weights);
}

void CrossMatch::join_sequences(const std::vector<std::uint32_t>& golden,
                                const std::vector<std::uint32_t>& actual, PairedBy method,
                                double confidence) {
  if (golden.empty() || actual.empty() || golden.size() > kMostCells / actual.size()) return;
  const std::size_t width = actual.size() + 1;
  std::vector<std::uint32_t> best((golden.size() + 1) * width);
  const auto fits = [&](std::size_t i, std::size_t j) {
    return are_alike(golden_[golden[i]], actual_[actual[j]]);
  };
  for (std::size_t i = golden.size(); i-- > 0;)
    for (std::size_t j = actual.size(); j-- > 0;)
      best[i * width + j] = fits(i, j) ? best[(i + 1) * width + j + 1] + 1
                                       : std::max(best[(i + 1) * width + j], best[i * width + j + 1]);
  for (std::size_t i = 0, j = 0; i < golden.size() && j < actual.size();) {
    if (fits(i, j))
      join(golden[i++], actual[j++], method, confidence);
    else
      best[(i + 1) * width + j] >= best[i * width + j + 1] ? ++i : ++j;
  }
}

void CrossMatch::match_paths() {
  if (paths_of(golden_).empty() || paths_of(actual_).empty()) return;
  using List = std::vector<std::uint32_t>;
  std::map<std::string, std::pair<List, List>> modules;
  for (std::uint32_t g = 0; g < golden_.size(); ++g)
    if (is_open_golden(g) && !counts_around(golden_[g])) modules[golden_[g].path].first.push_back(g);
  for (std::uint32_t a = 0; a < actual_.size(); ++a)
    if (is_open_actual(a) && !counts_around(actual_[a])) modules[actual_[a].path].second.push_back(a);
  for (const auto& [path, lists] : modules) {
    const auto& [g, a] = lists;
    if (g.empty() || a.empty()) continue;
    const bool is_equal =
        g.size() == a.size() && std::equal(g.begin(), g.end(), a.begin(),
                                           [&](auto i, auto j) { return are_alike(golden_[i], actual_[j]); });
    // A program's own operators around the network are in no module, too.
    join_sequences(g, a, PairedBy::path, !is_equal || path.empty() ? 0.6 : g.size() == 1 ? 0.95 : 0.85);
    if (!path.empty() && is_open_golden(g.back()) && is_open_actual(a.back()) &&
        golden_[g.back()].outputs[0].count == actual_[a.back()].outputs[0].count)
      join(g.back(), a.back(), PairedBy::path, 0.7);
  }
}

// An operator that stands for a module is the last one of that module on the other side.
void CrossMatch::match_modules() {
  const auto last_of = [&](const DataFlow& flow, const std::string& module) {
    std::uint32_t last = FlowNode::kNone;
    for (std::uint32_t i = 0; i < flow.size(); ++i)
      if (flow[i].can_pair() && is_in(flow[i].path, module)) last = i;
    return last;
  };
  const auto is_alone = [&](const DataFlow& flow, const std::string& module) {
    return std::ranges::count_if(flow.nodes(), [&](const FlowNode& node) {
             return node.can_pair() && is_in(node.path, module);
           }) == 1;
  };
  for (const bool is_golden : {true, false}) {
    const DataFlow &one = is_golden ? golden_ : actual_, &many = is_golden ? actual_ : golden_;
    for (std::uint32_t i = 0; i < one.size(); ++i) {
      const std::string& module = one[i].path;
      if (module.empty() || !(is_golden ? is_open_golden(i) : is_open_actual(i)) || !is_alone(one, module))
        continue;
      const std::uint32_t last = last_of(many, module);
      if (last == FlowNode::kNone || many[last].outputs[0].count != one[i].outputs[0].count) continue;
      const auto [g, a] = is_golden ? std::pair(i, last) : std::pair(last, i);
      if (is_open_golden(g) && is_open_actual(a)) join(g, a, PairedBy::path, 0.7);
    }
  }
}

// Where both sides have a product and its bias apart, both are compared.
void CrossMatch::part_equal_units() {
  const auto part_of = [](const DataFlow& flow, std::uint32_t whole) {
    std::uint32_t part = FlowNode::kNone;
    for (std::uint32_t i = 0; i < whole; ++i) {
      if (flow[i].whole != whole) continue;
      if (part != FlowNode::kNone) return FlowNode::kNone;
      part = i;
    }
    return part;
  };
  const std::vector<NodePair> known = pairs_;
  for (const NodePair& pair : known) {
    FlowNode &golden = golden_.nodes()[pair.golden], &actual = actual_.nodes()[pair.actual];
    if (golden.first == golden.run || actual.first == actual.run) continue;
    const std::uint32_t g = part_of(golden_, pair.golden), a = part_of(actual_, pair.actual);
    if (g == FlowNode::kNone || a == FlowNode::kNone || golden.has_other_weights != actual.has_other_weights)
      continue;
    for (FlowNode* whole : {&golden, &actual}) {
      whole->first = whole->run;
      whole->has_other_weights = false;
    }
    golden_.nodes()[g].whole = actual_.nodes()[a].whole = FlowNode::kNone;
    join(g, a, pair.method, pair.confidence);
  }
}

void CrossMatch::match_order() {
  const bool have_paths = !paths_of(golden_).empty() && !paths_of(actual_).empty();
  std::vector<NodePair> known = pairs_;
  std::ranges::sort(known, {}, &NodePair::golden);
  // Pairs that are in order on both sides bound the gaps.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> bounds;
  for (const NodePair& pair : known)
    if (bounds.empty() || pair.actual > bounds.back().second) bounds.emplace_back(pair.golden, pair.actual);
  for (std::size_t i = 0; i + 1 < bounds.size(); ++i) {
    std::vector<std::uint32_t> golden, actual;
    for (std::uint32_t g = bounds[i].first + 1; g < bounds[i + 1].first; ++g)
      if (is_open_golden(g) && !(have_paths && counts_around(golden_[g]))) golden.push_back(g);
    for (std::uint32_t a = bounds[i].second + 1; a < bounds[i + 1].second; ++a)
      if (is_open_actual(a) && !(have_paths && counts_around(actual_[a]))) actual.push_back(a);
    join_sequences(golden, actual, PairedBy::order, 0.5);
  }
}

}  // namespace opdump::compare
