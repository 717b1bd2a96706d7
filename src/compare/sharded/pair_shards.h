// A run of several ranks that share the work of a run of one rank: tensor, sequence and data parallelism. The
// operator of the one is paired with that of the first rank, and the other ranks' belong to it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "compare/comparison.h"
#include "compare/pairing.h"
#include "compare/sharded/rank_peers.h"
#include "compare/sharded/shard_rules.h"
#include "dump/read/dump_set.h"

namespace opdump::compare {

class ShardedRuns {
 public:
  // Nothing unless one of the dumps has one rank and the other several, the rank of the first among them.
  static std::optional<ShardedRuns> find(const dump::Runs& golden, const dump::Runs& actual);

  std::size_t rank_count() const { return peers_.ranks().size(); }
  // Before pair(). Must outlive this.
  void declare(const ShardRules* rules) { rules_ = rules; }

  // As pair_operators, and what has no partner then by the path of its module and its kind: the classes of
  // parallel modules have other names. A product whose bias is added after a reduction is the partner of one
  // with a bias. Collectives, what moves data, and what the other run has nothing like are left out.
  Pairing pair(const TailsOfBoth& tails);

  // Pairs slots of operators of other types: by shapes of which one can be a shard of the other, in order.
  std::vector<SlotPair> pair_slots(const dump::OperatorRun& golden, const dump::OperatorRun& actual) const;

  // Gives a comparison of `pair`, of which the slots are paired, the tensors of all ranks.
  void add_ranks(OperatorComparison& op, const OperatorPair& pair) const;

 private:
  ShardedRuns(const dump::Runs& golden, const dump::Runs& actual, bool is_golden)
      : golden_(golden), actual_(actual), is_golden_(is_golden), peers_(is_golden ? golden : actual) {}

  const dump::Runs& sharded() const { return is_golden_ ? golden_ : actual_; }
  bool is_part(const model::Shape& golden, const model::Shape& actual) const;
  bool are_alike(std::uint32_t golden, std::uint32_t actual) const;
  // Places in a list of pairs.
  struct NearPair {
    double distance = 0;
    std::size_t golden = 0, actual = 0;
    auto operator<=>(const NearPair&) const = default;
  };
  std::vector<NearPair> find_equal(const std::vector<OperatorPair>& pairs,
                                   const std::vector<std::size_t>& golden,
                                   const std::vector<std::size_t>& actual) const;
  double distance_of(const OperatorPair& pair) const;
  void pair_by_paths(std::vector<OperatorPair>& pairs) const;
  void join_biases(std::vector<OperatorPair>& pairs) const;
  void leave_out(Pairing& pairing) const;
  std::vector<dump::CallLayout> read_layouts(const std::vector<std::uint32_t>& executions) const;
  void find_scale(const std::vector<OperatorPair>& pairs);

  const dump::Runs &golden_, &actual_;
  bool is_golden_;  // the one with several ranks
  RankPeers peers_;
  const ShardRules* rules_ = nullptr;
  double scale_ = 1;  // of gradients before they are averaged: ShardedSlot::scale
};

}  // namespace opdump::compare
