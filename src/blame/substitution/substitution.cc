#include "blame/substitution/substitution.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "blame/evidence.h"
#include "blame/substitution/exchanges.h"
#include "compare/names.h"
#include "compare/pairs/results/known_results.h"
#include "compare/pairs/results/lost_results.h"
#include "compare/wiring/content.h"

namespace opdump::blame {
namespace {

using compare::MadeTensor;
using compare::OperatorPair;
using compare::ResultGraph;
using compare::ResultNode;
using compare::ResultReader;

constexpr std::size_t kMostLines = 48;         // of actual that are tried, from the first on
constexpr std::size_t kMostFollowers = 256;    // that run again for each try
constexpr std::size_t kMostInVain = 24;        // of these, results in a row that are not golden's
constexpr std::uint64_t kMostReplayed = 4000;  // in all
constexpr std::uint64_t kEnough = 8;           // results that are golden's again
constexpr std::uint32_t kNone = OperatorPair::kNone;

// Views, and what has the elements of what it reads.
bool moves(const ResultNode& node) { return node.results.empty() || node.only_moves; }

// Where what an execution's result is made of begins to be lost: at `parting`, if that leads to it; else at
// the first one that reads what both runs have, or that itself.
std::uint32_t find_begin(const ResultGraph& run, std::uint32_t execution, std::uint32_t parting) {
  const auto nodes = run.nodes();
  std::set<std::uint32_t> leads{execution};
  for (std::uint32_t i = execution; i-- > 0;) {
    const auto leads_to_it = [&](const ResultReader& reader) { return leads.contains(reader.execution); };
    if ((nodes[i].is_lost || moves(nodes[i])) && std::ranges::any_of(nodes[i].readers, leads_to_it))
      leads.insert(i);
  }
  if (leads.contains(parting)) return parting;
  std::set<std::uint32_t> begins, shown;
  for (std::uint32_t i = 0; i < execution; ++i) {
    const ResultNode& node = nodes[i];
    if (!shown.contains(i) && !(node.is_known && node.is_telling && !node.is_constant)) continue;
    for (const ResultReader& reader : node.readers)
      if (leads.contains(reader.execution))
        (moves(nodes[reader.execution]) ? shown : begins).insert(reader.execution);
  }
  return begins.empty() ? execution : *begins.begin();
}

class Search {
 public:
  Search(const dump::Runs& golden, const dump::Runs& actual, const Replay& replay, unsigned threads,
         std::uint64_t limit)
      : golden_wiring_(golden),
        actual_wiring_(actual),
        golden_(golden_wiring_, threads),
        actual_(actual_wiring_, threads),
        replay_(replay),
        limit_(std::min(limit, kMostReplayed)) {
    find_known_results(golden_, actual_, threads);
    for (ResultGraph* run : {&golden_, &actual_}) find_lost_results(*run);
  }

  Result<std::optional<Substitution>> find(const OperatorPair& parting) {
    const std::vector<LostLine> of_golden = find_lost_lines(golden_, parting.golden);
    std::vector<LostLine> of_actual = find_lost_lines(actual_, parting.actual);
    if (of_actual.size() > kMostLines) of_actual.resize(kMostLines);
    for (const LostLine& line : of_actual)
      for (const Exchange& exchange : choose_exchanges(of_golden, line)) {
        if (replayed_ >= limit_) return std::optional<Substitution>();
        OPDUMP_TRY(std::optional<Substitution> found, try_out(exchange));
        if (!found) continue;
        found->begins = {.golden = find_begin(golden_, found->ends.golden, parting.golden),
                         .actual = find_begin(actual_, found->ends.actual, parting.actual)};
        found->replayed = replayed_;
        return found;
      }
    return std::optional<Substitution>();
  }

 private:
  Result<std::optional<Substitution>> try_out(const Exchange& exchange) {
    OPDUMP_TRY(const bool is_put, put(exchange));
    if (!is_put) return std::optional<Substitution>();
    std::set<std::uint32_t> open, changed;  // by what was put
    for (const auto& [g, a] : exchange) changed.insert(a->execution);
    for (const std::uint32_t execution : changed) add_readers(execution, open);
    for (const std::uint32_t execution : changed) open.erase(execution);
    Substitution found{
        .ends = {.golden = exchange.front().first->execution, .actual = exchange.front().second->execution}};
    bool is_joined = false;
    std::size_t in_vain = 0;
    for (std::size_t followers = 0;
         !open.empty() && followers < kMostFollowers && in_vain < kMostInVain && found.restored < kEnough;
         ++followers) {
      const std::uint32_t execution = *open.begin();
      open.erase(open.begin());
      add_readers(execution, open);
      is_joined |= reads_more(execution, changed);
      changed.insert(execution);
      const dump::OperatorRun run = actual_.runs()[execution];
      const auto request = make_request(nullptr, &run, {.without = Without()});
      if (!request) continue;  // as for a view, which the worker recognises by its elements
      if (replayed_++ >= limit_) break;
      OPDUMP_TRY(const Replayed replayed, run_again(replay_, *request));
      if (replayed.has_ended) break;  // and the worker knows nothing any more
      const std::uint32_t same = find_restored(execution, replayed, exchange);
      in_vain = same == kNone ? in_vain + is_lost_result(actual_.nodes()[execution]) : 0;
      if (same == kNone || !is_joined) continue;
      if (found.restored++ == 0) found.first_restored = {.golden = same, .actual = execution};
    }
    return found.restored > 0 ? std::optional(found) : std::nullopt;
  }

  // Whether the worker has taken golden's tensors for those of actual.
  Result<bool> put(const Exchange& exchange) {
    OPDUMP_TRY(const std::string forgotten, replay_(make_forget_request()));
    OPDUMP_CHECK_OK(parse_acknowledged(forgotten));
    for (const auto& [g, a] : exchange) {
      const auto in_golden = slot_of(golden_.runs(), *g), in_actual = slot_of(actual_.runs(), *a);
      if (!in_golden || !in_actual) return false;
      const auto request = make_put_request(*in_actual, *in_golden);
      if (!request) return false;
      OPDUMP_TRY(const Replayed replayed, run_again(replay_, *request));
      if (!replayed.is_done) return false;
    }
    return true;
  }

  void add_readers(std::uint32_t execution, std::set<std::uint32_t>& open) const {
    for (const ResultReader& reader : actual_.nodes()[execution].readers) open.insert(reader.execution);
  }

  // Whether an execution reads numbers, as weights or a residual, that do not come from what was put. That
  // golden has what is made of its own result alone proves nothing: the same may follow another result, too.
  bool reads_more(std::uint32_t execution, const std::set<std::uint32_t>& changed) const {
    for (const dump::Slot& slot : actual_.runs().slots(execution)) {
      if (slot.side != model::Side::input || !model::is_floating(slot.dtype)) continue;
      const auto made_by = actual_wiring_.writers(execution, slot.index).executions;
      const auto is_changed = [&](std::uint32_t writer) { return changed.contains(writer); };
      if (std::ranges::any_of(made_by, is_changed)) continue;
      const auto is_made = [&](std::uint32_t writer) { return !actual_.nodes()[writer].is_constant; };
      if (compare::element_count_of(slot) == 1 ? std::ranges::any_of(made_by, is_made) : is_distinctive(slot))
        return true;
    }
    return false;
  }

  static bool is_distinctive(const dump::Slot& slot) {
    const auto print = compare::print_of(slot);
    return print && print->is_distinctive();
  }

  // Golden's execution that makes what an execution of actual makes now, and did not before; kNone if none.
  std::uint32_t find_restored(std::uint32_t execution, const Replayed& replayed,
                              const Exchange& exchange) const {
    const ResultNode& node = actual_.nodes()[execution];
    if (!is_lost_result(node) || !node.is_telling || node.only_moves) return kNone;
    for (const auto& now : replayed.made) {
      if (now.first != node.results.front().output) continue;
      const compare::TensorPrint& print = now.second;
      const auto is_put = [&](const auto& tensors) {
        return compare::distance(tensors.first->print, print) <= compare::kLater.prints;
      };
      if (std::ranges::any_of(exchange, is_put)) return kNone;
      for (const MadeTensor* made : golden_.made().find(print, compare::kLater)) {
        const ResultNode& same = golden_.nodes()[made->execution];
        if (same.is_lost && !made->is_read && !same.only_moves) return made->execution;
      }
    }
    return kNone;
  }

  compare::Wiring golden_wiring_, actual_wiring_;
  ResultGraph golden_, actual_;
  const Replay& replay_;
  std::uint64_t limit_ = 0, replayed_ = 0;
};

std::string describe_range(const dump::Runs& runs, std::uint32_t first, std::uint32_t last) {
  return (first == last ? "" : compare::describe_call(runs, first) + " to ") +
         compare::describe_call(runs, last);
}

}  // namespace

Result<std::optional<Substitution>> find_substitution(const dump::Runs& golden, const dump::Runs& actual,
                                                      const OperatorPair& parting, const Replay& replay,
                                                      unsigned threads, std::uint64_t limit) {
  return Search(golden, actual, replay, threads, limit).find(parting);
}

std::string describe_substitution(const Substitution& found, const dump::Runs& golden,
                                  const dump::Runs& actual) {
  return "golden computes " + describe_range(golden, found.begins.golden, found.ends.golden) +
         " here, actual " + describe_range(actual, found.begins.actual, found.ends.actual) +
         "; with golden's result in its place, actual computes what golden does in " +
         compare::describe_call(golden, found.first_restored.golden) +
         (found.restored > 1 ? " and behind it" : "");
}

}  // namespace opdump::blame
