// Pairs the nodes of two graphs of data flow, one step of each. The rules: pair_across.h.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "compare/pairs/across/data_flow.h"
#include "compare/pairs/pairing.h"

namespace opdump::compare {

inline constexpr double kNear = 1e-4;  // how far prints of equal results are apart

struct NodePair {
  std::uint32_t golden = 0, actual = 0;
  PairedBy method = PairedBy::values;
  float confidence = 1;
};

class CrossMatch {
 public:
  CrossMatch(DataFlow& golden, DataFlow& actual);

  // Makes two nodes partners. With FlowNode::kNone for one, the other gets none. Call it before match().
  void declare(std::uint32_t golden, std::uint32_t actual);
  void match();

  const std::vector<NodePair>& pairs() const { return pairs_; }
  bool is_paired(bool is_golden, std::uint32_t node) const {
    return (is_golden ? golden_partner_ : actual_partner_)[node] != FlowNode::kNone;
  }

 private:
  struct Candidate {
    bool is_other_kind = false;
    double distance = 0;
    bool is_other_path = false;
    std::uint32_t golden = 0, actual = 0;
    auto operator<=>(const Candidate&) const = default;
  };

  bool is_open_golden(std::uint32_t node) const {
    return golden_partner_[node] == FlowNode::kNone && golden_[node].can_pair();
  }
  bool is_open_actual(std::uint32_t node) const {
    return actual_partner_[node] == FlowNode::kNone && actual_[node].can_pair();
  }
  void join(std::uint32_t golden, std::uint32_t actual, PairedBy method, double confidence);
  void join_best(std::vector<Candidate> candidates, PairedBy method);
  // Says which weights and data of golden are which of actual.
  void number_weights();
  void match_values();
  void match_onnx_names();
  void match_weights();
  void match_data_flow();
  void match_between();
  void match_updates();
  void match_paths();
  void match_modules();
  void part_equal_units();
  void match_order();
  std::vector<std::uint32_t> producers_of(const DataFlow& flow, std::uint32_t node, bool is_golden) const;
  std::set<std::uint32_t> sources_of_update(std::uint32_t node, bool is_golden) const;
  std::vector<std::uint32_t> last_updates(bool is_golden) const;
  bool read_the_same(std::uint32_t golden, std::uint32_t actual) const;
  // Pairs what an input of `reader`, a pair that differs, is made by.
  bool join_makers(const NodePair& reader);
  // Pairs nodes of equal kind and size in order, as many as possible.
  void join_sequences(const std::vector<std::uint32_t>& golden, const std::vector<std::uint32_t>& actual,
                      PairedBy method, double confidence);

  DataFlow &golden_, &actual_;
  std::vector<std::uint32_t> golden_partner_, actual_partner_;
  std::uint32_t first_golden_ = FlowNode::kNone, first_actual_ = FlowNode::kNone;  // that are paired
  std::vector<NodePair> pairs_;
  bool is_quantised_ = false;  // one of the two
  // What reads no result of an operator, and has no partner, may be a constant in the other run: frameworks
  // compute such operators when they compile a graph.
  bool sees_constants_ = false;
};

}  // namespace opdump::compare
