#include "blame/culprits/chain.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "base/text/text.h"
#include "blame/differences.h"
#include "blame/evidence.h"
#include "blame/request.h"
#include "compare/key_slots.h"
#include "compare/names.h"

namespace opdump::blame {
namespace {

using compare::OperatorComparison;

constexpr std::size_t kMaxChain = 6;
constexpr double kCancels = 10;  // what inputs bring, against what is left of it

// ", 98 % by input.1": how much of what the operator inherits each input brings, the largest first. Shares
// add up to 100 %, and some are negative where inputs cancel one another; where hardly anything is left (the
// two moments of Adam), their numbers say nothing. Empty if one input differs, or if it cannot be run again.
Result<std::string> describe_shares(const OperatorComparison& op, const Replay& replay) {
  const auto differing = std::ranges::count_if(op.slots, [](const compare::SlotComparison& slot) {
    return compare::side_of(slot) == model::Side::input && differs(slot);
  });
  const auto request = differing > 1 ? make_request(op.golden.get(), op.actual.get(), {.shares = true})
                                     : Error(Code::unsupported, "");
  if (!request) return std::string();
  OPDUMP_TRY(Replayed replayed, run_again(replay, *request));
  if (!replayed.is_done) return std::string();
  std::ranges::stable_sort(replayed.shares, std::greater(),
                           [](const auto& of) { return std::abs(of.second); });
  if (!replayed.shares.empty() && std::abs(replayed.shares.front().second) > kCancels)
    return std::string(", the differences of its inputs cancel one another");
  std::string text;
  for (const auto& [input, share] : replayed.shares)
    if (const double percent = std::round(100 * share); percent != 0)
      text += ", " + format_g(percent) + " % by input." + std::to_string(input);
  return text;
}

Result<std::string> describe(const OperatorComparison& op, const Replay& replay) {
  OPDUMP_TRY(const std::string shares, describe_shares(op, replay));
  std::string name = compare::one_line(compare::operator_name(op.run()));
  const double distance = distance_of(op);  // 0 where there are only statistics
  return distance == 0 ? name : name + " (relative L2 " + format_g(distance) + shares + ")";
}

}  // namespace

Result<std::vector<std::string>> describe_chain(std::span<const OperatorComparison> suspects,
                                                const dump::OperatorRun& culprit, const Replay& replay) {
  std::vector<std::string> chain;
  double most = 0;
  bool is_after = false;
  const OperatorComparison *last = nullptr, *described = nullptr;
  for (const OperatorComparison& op : suspects) {
    if (&op.run() == &culprit) {
      is_after = true;
      most = distance_of(op);
      continue;
    }
    if (!is_after || !is_paired(op) || !differs(op, model::Side::output)) continue;
    last = &op;
    if (distance_of(op) <= 2 * most || chain.size() >= kMaxChain) continue;
    most = distance_of(op);
    OPDUMP_TRY(std::string link, describe(op, replay));
    described = &op;
    chain.push_back(std::move(link));
  }
  if (last != nullptr && last != described) {
    OPDUMP_TRY(std::string link, describe(*last, replay));
    chain.push_back(std::move(link));
  }
  return chain;
}

}  // namespace opdump::blame
