// Pairs operators by what they read, and by what reads them.
#include <algorithm>
#include <map>
#include <set>

#include "compare/pairs/across/matching.h"

namespace opdump::compare {
namespace {

// Says whether golden reads weights of the size of actual's largest ones, too.
bool have_equal_weights(const FlowNode& golden, const FlowNode& actual) {
  std::uint64_t largest = 0;
  for (const FlowOperand& input : actual.inputs)
    if (input.producer == FlowNode::kNone) largest = std::max(largest, input.count);
  return std::ranges::any_of(golden.inputs, [&](const FlowOperand& input) { return input.count == largest; });
}

// The node that computes an input, as the whole that it is part of.
std::uint32_t whole_producer(const DataFlow& flow, const FlowOperand& input) {
  std::uint32_t producer = input.producer;
  while (producer != FlowNode::kNone && flow[producer].whole != FlowNode::kNone)
    producer = flow[producer].whole;
  return producer;
}

std::set<std::uint32_t> makers_of(const DataFlow& flow, std::uint32_t reader) {
  std::set<std::uint32_t> makers;
  for (const FlowOperand& input : flow[reader].inputs)
    if (const std::uint32_t maker = whole_producer(flow, input); maker != FlowNode::kNone)
      makers.insert(maker);
  return makers;
}

// Whether both read one tensor, up to rounding.
bool share_an_input(const FlowNode& golden, const FlowNode& actual) {
  const auto is_near = [](const FlowOperand& g, const FlowOperand& a) {
    return g.count == a.count && g.print && a.print && g.print->is_distinctive() &&
           a.print->is_distinctive() && distance(*g.print, *a.print) <= kNear;
  };
  return std::ranges::any_of(golden.inputs, [&](const FlowOperand& g) {
    return std::ranges::any_of(actual.inputs, [&](const FlowOperand& a) { return is_near(g, a); });
  });
}

bool reads_no_result(const FlowNode& node) {
  return std::ranges::all_of(node.inputs,
                             [](const FlowOperand& input) { return input.producer == FlowNode::kNone; });
}

}  // namespace

// Returns the nodes that compute the inputs, as nodes of golden; empty if one of them has no partner. What a
// program computes before its network runs are weights.
std::vector<std::uint32_t> CrossMatch::producers_of(const DataFlow& flow, std::uint32_t node,
                                                    bool is_golden) const {
  std::vector<std::uint32_t> producers;
  for (const FlowOperand& input : flow[node].inputs) {
    std::uint32_t producer = whole_producer(flow, input);
    if (producer == FlowNode::kNone || producer == node) continue;
    if (producer < (is_golden ? first_golden_ : first_actual_)) continue;
    if (sees_constants_ && !is_paired(is_golden, producer) && reads_no_result(flow[producer])) continue;
    if (!is_golden) producer = actual_partner_[producer];
    if (producer == FlowNode::kNone) return {};
    producers.push_back(producer);
  }
  std::ranges::sort(producers);
  producers.erase(std::unique(producers.begin(), producers.end()), producers.end());
  return producers;
}

void CrossMatch::match_data_flow() {
  for (bool has_new = true; has_new;) {
    has_new = false;
    std::map<std::vector<std::uint32_t>, std::vector<std::uint32_t>> readers;  // of golden
    for (std::uint32_t g = 0; g < golden_.size(); ++g)
      if (is_open_golden(g)) readers[producers_of(golden_, g, true)].push_back(g);
    for (std::uint32_t a = 0; a < actual_.size(); ++a) {
      if (!is_open_actual(a)) continue;
      const std::vector<std::uint32_t> producers = producers_of(actual_, a, false);
      const auto found = producers.empty() ? readers.end() : readers.find(producers);
      if (found == readers.end()) continue;
      std::vector<std::uint32_t> fitting;
      for (const std::uint32_t g : found->second)
        if (is_open_golden(g) && are_alike(golden_[g], actual_[a])) fitting.push_back(g);
      if (fitting.size() > 1)
        std::erase_if(fitting, [&](std::uint32_t g) { return !have_equal_weights(golden_[g], actual_[a]); });
      if (fitting.size() > 1)
        std::erase_if(fitting, [&](std::uint32_t g) { return golden_[g].path != actual_[a].path; });
      if (fitting.size() != 1) continue;
      join(fitting[0], a, PairedBy::data_flow, 0.9);
      has_new = true;
    }
  }
}

bool CrossMatch::read_the_same(std::uint32_t golden, std::uint32_t actual) const {
  const std::vector<std::uint32_t> producers = producers_of(golden_, golden, true);
  return !producers.empty() && producers == producers_of(actual_, actual, false);
}

bool CrossMatch::join_makers(const NodePair& reader) {
  bool has_new = false;
  for (const std::uint32_t g : makers_of(golden_, reader.golden)) {
    std::set<std::uint32_t> fitting = makers_of(actual_, reader.actual);
    std::erase_if(fitting, [&](std::uint32_t a) {
      return !is_open_actual(a) || golden_[g].outputs[0].count != actual_[a].outputs[0].count ||
             !read_the_same(g, a);
    });
    if (fitting.size() != 1 || !is_open_golden(g)) continue;
    join(g, *fitting.begin(), PairedBy::data_flow, 0.8);
    has_new = true;
  }
  return has_new;
}

// Two operators of other kinds, as another pooling, that have the place of one another: they read the same,
// and an operator that differs reads both. Where it does not differ, frameworks may take other ways to its
// result.
void CrossMatch::match_between() {
  bool has_new = false;
  const std::vector<NodePair> known = pairs_;
  for (const NodePair& reader : known)
    if (reader.method != PairedBy::values && reader.confidence >= kCertainPair)
      has_new |= join_makers(reader);
  if (has_new) match_data_flow();
}

// What an update of a weight is made of, seen through the operators of the optimizer that have no partner:
// nodes of golden. Empty if one of these has no partner, either.
std::set<std::uint32_t> CrossMatch::sources_of_update(std::uint32_t node, bool is_golden) const {
  const DataFlow& flow = is_golden ? golden_ : actual_;
  std::set<std::uint32_t> sources, seen{node};
  for (std::vector<std::uint32_t> open{node}; !open.empty();) {
    const std::uint32_t next = open.back();
    open.pop_back();
    for (const std::uint32_t maker : makers_of(flow, next)) {
      if (!seen.insert(maker).second) continue;
      if (is_paired(is_golden, maker))
        sources.insert(is_golden ? maker : actual_partner_[maker]);
      else if (flow[maker].is_of_optimizer)
        open.push_back(maker);
      else
        return {};
    }
  }
  return sources;
}

// Operators of the optimizer whose results no other one reads.
std::vector<std::uint32_t> CrossMatch::last_updates(bool is_golden) const {
  const DataFlow& flow = is_golden ? golden_ : actual_;
  std::set<std::uint32_t> read;
  for (std::uint32_t i = 0; i < flow.size(); ++i)
    if (flow[i].is_of_optimizer) read.merge(makers_of(flow, i));
  std::vector<std::uint32_t> updates;
  for (std::uint32_t i = 0; i < flow.size(); ++i)
    if (flow[i].is_of_optimizer && !read.contains(i) && (is_golden ? is_open_golden(i) : is_open_actual(i)))
      updates.push_back(i);
  return updates;
}

// An optimizer is one operator for each weight in one framework, and several in another one: the last of them
// is the partner. Some dumps have a weight that is updated in place as it is afterwards, so that only
// gradients say which is which.
void CrossMatch::match_updates() {
  std::map<std::set<std::uint32_t>, std::vector<std::uint32_t>> updates;  // of golden
  for (const std::uint32_t g : last_updates(true)) updates[sources_of_update(g, true)].push_back(g);
  for (const std::uint32_t a : last_updates(false)) {
    const std::set<std::uint32_t> sources = sources_of_update(a, false);
    const auto found = sources.empty() ? updates.end() : updates.find(sources);
    if (found == updates.end()) continue;
    std::vector<std::uint32_t> fitting = found->second;
    std::erase_if(fitting, [&](std::uint32_t g) {
      return !is_open_golden(g) || golden_[g].outputs[0].count != actual_[a].outputs[0].count;
    });
    if (fitting.size() > 1)
      std::erase_if(fitting, [&](std::uint32_t g) { return !share_an_input(golden_[g], actual_[a]); });
    if (fitting.size() == 1) join(fitting[0], a, PairedBy::data_flow, 0.8);
  }
}

}  // namespace opdump::compare
