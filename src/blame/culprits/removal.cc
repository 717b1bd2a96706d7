#include "blame/culprits/removal.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "blame/differences.h"
#include "blame/evidence.h"
#include "compare/key_slots.h"
#include "compare/names.h"

namespace opdump::blame {
namespace {

using compare::OperatorComparison;

constexpr std::uint64_t kMostRemoved = 1 << 25;  // in tensors of operators that run again: some seconds
constexpr std::size_t kMostEnded = 4;            // operators that end a worker: each costs seconds

class Follower {
 public:
  Follower(std::span<const OperatorComparison> operators, const std::vector<bool>& is_end,
           const Replay& replay)
      : operators_(operators), is_end_(is_end), replay_(replay) {}

  // The share of the final error that is gone without some culprits. An operator that ends the worker is left
  // as it is; the next worker knows nothing, and begins anew.
  Result<double> follow(std::span<const FaultyOperator> culprits) {
    for (;;) {
      const std::size_t known = ended_.size();
      auto share = follow_once(culprits);
      if (share || ended_.size() == known || ended_.size() > kMostEnded) return share;
    }
  }

  std::vector<std::string> ended() const {
    std::vector<std::string> names;
    for (const std::size_t i : ended_) names.push_back(compare::operator_name(operators_[i].run()));
    return names;
  }

 private:
  Result<double> follow_once(std::span<const FaultyOperator> culprits) {
    std::map<std::size_t, const Without*> without;
    for (const FaultyOperator& culprit : culprits)
      for (const std::size_t execution : culprit.executions) without.emplace(execution, &culprit.without);
    OPDUMP_TRY(const std::string forgotten, replay_(make_forget_request()));
    OPDUMP_CHECK_OK(parse_acknowledged(forgotten));
    double gone = 0;
    std::size_t ends = 0;
    for (std::size_t i = 0; i < operators_.size(); ++i) {
      const OperatorComparison& op = operators_[i];
      if (op.golden == nullptr || op.actual == nullptr || ended_.contains(i)) continue;
      const auto found = without.find(i);
      const auto request = make_request(op.golden.get(), op.actual.get(),
                                        {.without = found == without.end() ? Without() : *found->second});
      if (!request) continue;  // its outputs stay as they are
      const auto reply = replay_(*request);
      if (!reply && reply.error().code() == Code::internal) ended_.insert(i);
      if (!reply) return reply.error();
      OPDUMP_TRY(const Replayed replayed, parse_replayed(*reply));
      if (!is_end_[i]) continue;
      for (const EndError& end : replayed.ends) {
        if (!is_different(op, end.index) || !(end.before > 0) || !std::isfinite(end.after)) continue;
        gone += std::clamp(1 - end.after / end.before, -1.0, 1.0);
        ++ends;
      }
    }
    return ends > 0 ? gone / static_cast<double>(ends) : 0;
  }

  // Says whether the output differs by more than rounding, which no culprit makes.
  static bool is_different(const OperatorComparison& op, std::uint32_t index) {
    return std::ranges::any_of(op.slots, [&](const compare::SlotComparison& slot) {
      return compare::side_of(slot) == model::Side::output && slot.actual != nullptr &&
             slot.actual->index == index && !compare::is_fine(slot.verdict);
    });
  }

  std::span<const OperatorComparison> operators_;
  const std::vector<bool>& is_end_;
  const Replay& replay_;
  std::set<std::size_t> ended_;  // places of operators that have ended a worker
};

}  // namespace

Result<Removal> measure_removal(std::span<const OperatorComparison> operators,
                                const std::vector<bool>& is_end, std::span<const FaultyOperator> culprits,
                                const Replay& replay, std::uint64_t limit) {
  Removal removal;
  std::size_t most = limit / (culprits.size() + 1);
  std::uint64_t elements = 0;
  for (std::size_t i = 0; i < std::min(most, operators.size()); ++i) {
    elements += element_count_of(operators[i]) * (culprits.size() + 1);
    if (elements > kMostRemoved) most = std::max<std::size_t>(i, 1);
  }
  std::vector<bool> ends = is_end;
  if (operators.size() > most) {
    removal.is_whole = false;
    operators = operators.first(most);
    if (most > 0) ends[most - 1] = true;
  }
  Follower follower(operators, ends, replay);
  for (const FaultyOperator& culprit : culprits) {
    OPDUMP_TRY(const double share, follower.follow({&culprit, 1}));
    removal.shares.push_back(share);
  }
  OPDUMP_TRY(removal.together, follower.follow(culprits));
  removal.ended = follower.ended();
  return removal;
}

}  // namespace opdump::blame
