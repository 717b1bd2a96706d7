// A run of several ranks that share the work of a run of one rank, or of fewer: tensor, sequence and data
// parallelism. Some ranks of the one stand for each rank of the other (rank_groups.h), whose operator is
// paired with that of the first of them; those of the others belong to it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compare/comparison.h"
#include "compare/facts/operator_kind.h"
#include "compare/pairs/pair_slots.h"
#include "compare/pairs/pairing.h"
#include "compare/pairs/sharded/rank_groups.h"
#include "compare/pairs/sharded/rank_peers.h"
#include "compare/pairs/sharded/shard_rules.h"
#include "dump/read/dump_set.h"

namespace opdump::compare {

class ShardedRuns {
 public:
  // Nothing unless one of the dumps has one rank and the other several, the rank of the first among them; or
  // one has some of the ranks of the other, their number divides that of the others, and tensors have other
  // shapes: otherwise the same ranks are compared.
  static std::optional<ShardedRuns> find(const dump::Runs& golden, const dump::Runs& actual);

  std::size_t rank_count() const { return peers_.ranks().size(); }
  // Whether the other run has one rank.
  bool has_whole() const { return groups_.size() == 1; }
  // Call it before pair(). The rules must outlive this.
  void declare(const ShardRules* rules) { rules_ = rules; }

  // Pairs as pair_operators does, and then what has no partner by the path of its module and its kind: the
  // classes of parallel modules have other names. A product whose bias is added after a reduction is the
  // partner of one with a bias. Collectives, what moves data, and what the other run has nothing like are
  // left out.
  Pairing pair(const TailsOfBoth& tails);

  // Pairs slots of operators of other types: by shapes of which one can be a shard of the other, in order.
  std::vector<SlotPair> pair_slots(const dump::OperatorRun& golden, const dump::OperatorRun& actual) const;

  // Gives a comparison of `pair`, of which the slots are paired, the tensors of all ranks.
  void add_ranks(OperatorComparison& op, const OperatorPair& pair) const;

 private:
  ShardedRuns(const dump::Runs& golden, const dump::Runs& actual, bool is_golden, std::size_t few);

  const dump::Runs& sharded() const { return is_golden_ ? golden_ : actual_; }
  std::uint32_t sharded_of(const OperatorPair& pair) const { return is_golden_ ? pair.golden : pair.actual; }
  std::size_t place_of(std::uint32_t rank) const;
  std::size_t group_of(const dump::Runs& runs, std::uint32_t index) const;
  // Executions of the ranks of a group.
  std::vector<std::uint32_t> peers_of(std::uint32_t index, std::size_t group) const;
  bool stand_in(OperatorPair& pair) const;
  bool have_equal_shapes(const OperatorPair& pair) const;
  void interleave_ranks(std::vector<OperatorPair>& pairs) const;
  void choose_groups(const std::vector<OperatorPair>& pairs);
  std::string describe() const;
  using RunsOfRanks = std::vector<std::shared_ptr<const dump::OperatorRun>>;
  RunsOfRanks read_ranks(const OperatorComparison& op, const OperatorPair& pair) const;
  void fill(ShardedSlot& sharded, const std::vector<std::size_t>& places, const RunsOfRanks& runs,
            const dump::Slot& mine, const dump::OperatorRun& own) const;
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
  bool is_of_ranks(const OperatorPair& pair, const OperatorKind& kind) const;
  void leave_out(Pairing& pairing) const;
  std::vector<dump::CallLayout> read_layouts(const std::vector<std::uint32_t>& executions) const;
  void find_scale(const std::vector<OperatorPair>& pairs);

  const dump::Runs &golden_, &actual_;
  bool is_golden_;  // the one with more ranks
  RankPeers peers_;
  std::vector<RankGroups> all_groups_;  // that there can be
  RankGroups groups_;  // places in peers_.ranks(); of as many ranks as the other run has, the first ones
  const ShardRules* rules_ = nullptr;
  double scale_ = 1;  // of gradients before they are averaged: ShardedSlot::scale
};

}  // namespace opdump::compare
