#include "msaccucmp/compare_work.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <mutex>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/worker_pool.h"
#include "msaccucmp/compare.h"
#include "terminal/progress.h"

namespace opdump::msaccucmp {
namespace {

using compare::GroupResult;
using compare::Journal;
using compare::PackedRow;
using compare::Row;
using Json = nlohmann::json;

// What is told while several pieces are compared at once, in their order.
class OrderedResults {
 public:
  explicit OrderedResults(const std::vector<std::uint64_t>& bytes)
      : results_(bytes.size()), texts_(bytes.size()), is_done_(bytes.size()), bytes_(bytes) {
    for (const std::uint64_t each : bytes_) total_bytes_ += each;
  }

  void add(std::size_t i, GroupResult result) { add(Finished{{i, std::move(result)}}); }

  // Of pieces in rising order.
  using Finished = std::vector<std::pair<std::size_t, GroupResult>>;
  void add(Finished finished) {
    std::vector<std::string> texts;
    for (auto& [i, result] : finished) texts.push_back(take_text(result.journal));
    std::unique_lock lock(mutex_);
    for (std::size_t n = 0; n < finished.size(); ++n) {
      const std::size_t i = finished[n].first;
      results_[i] = std::move(finished[n].second);
      texts_[i] = std::move(texts[n]);
      is_done_[i] = true;
      done_bytes_ += bytes_[i];
    }
    for (; next_ < results_.size() && is_done_[next_]; ++next_) ready_ += std::exchange(texts_[next_], {});
    progress_.update(done_bytes_, total_bytes_);
    if (!is_writing_) write_ready(lock);
  }

  bool is_done(std::size_t i) const { return is_done_[i]; }
  const GroupResult& result(std::size_t i) const { return results_[i]; }

  GroupResult merge() {
    GroupResult merged;
    for (GroupResult& result : results_) {
      if (merged.status == Status::ok) merged.status = result.status;
      merged.is_matched = merged.is_matched || result.is_matched;
      std::ranges::move(result.rows, std::back_inserter(merged.rows));
    }
    if (!std::ranges::is_sorted(merged.rows, {}, &PackedRow::index))
      std::ranges::stable_sort(merged.rows, {}, &PackedRow::index);
    return merged;
  }

 private:
  // One thread writes; the others leave what they have to it and go on.
  void write_ready(std::unique_lock<std::mutex>& lock) {
    is_writing_ = true;
    while (!ready_.empty()) {
      const std::string text = (is_terminal_ ? "\r\033[K" : "") + std::exchange(ready_, {});  // over the bar
      lock.unlock();
      std::fputs(text.c_str(), stderr);
      lock.lock();
    }
    is_writing_ = false;
  }

  std::mutex mutex_;  // guards all below
  std::vector<GroupResult> results_;
  std::vector<std::string> texts_;  // of the log, as results_
  std::string ready_;               // in order, to be written
  bool is_writing_ = false;
  std::vector<char> is_done_;
  const std::vector<std::uint64_t>& bytes_;
  std::uint64_t done_bytes_ = 0, total_bytes_ = 0;
  std::size_t next_ = 0;
  bool is_terminal_ = ::isatty(STDERR_FILENO) == 1;
  terminal::Progress progress_{"comparing operators"};
};

// Calls compare(n) for 0 ... count - 1.
template <typename Compare>
void compare_all(std::size_t count, unsigned threads, OrderedResults& results, const Compare& compare) {
  const std::size_t at_once = pieces_at_once(count, threads);
  parallel_for((count + at_once - 1) / at_once, threads, [&](std::size_t part) {
    OrderedResults::Finished finished;
    for (std::size_t n = part * at_once; n < std::min(count, (part + 1) * at_once); ++n)
      finished.push_back(compare(n));
    results.add(std::move(finished));
  });
}

Json to_json(std::size_t piece, const GroupResult& result) {
  Json lines = Json::array();
  for (const Journal::Line& line : result.journal.lines())
    lines.push_back({static_cast<int>(line.severity), line.text});
  Json rows = Json::array();
  for (const PackedRow& row : result.rows) rows.push_back(row.cells());
  return {piece, static_cast<int>(result.status), result.is_matched, std::move(rows), std::move(lines)};
}

// Of a process that runs the same program.
GroupResult from_json(const Json& json) {
  GroupResult result;
  result.status = static_cast<Status>(json[1].get<int>());
  result.is_matched = json[2].get<bool>();
  for (const Json& row : json[3]) result.rows.emplace_back(row.get<Row>());
  for (const Json& line : json[4]) {
    const auto severity = static_cast<Journal::Severity>(line[0].get<int>());
    result.journal.add(severity, line[1].get<std::string>());
  }
  return result;
}

class SharedRun {
 public:
  SharedRun(const CompareWork& work, const compare::Share& share, OrderedResults& results)
      : work_(work), share_(share), results_(results) {}

  // Whether all processes answered; the leader says which did not.
  bool run() {
    const auto shared =
        compare::share_work(share_, compare::digest_of(work_.seen), work_.bytes,
                            [&](std::span<const std::size_t> pieces) { return compare_own(pieces); });
    if (!shared) {
      log_line(Severity::error, shared.error().message());
      return false;
    }
    for (const std::size_t rank : shared->workers)
      if (rank != share_.rank) take_answers(shared->answers[rank]);
    bool is_whole = shared->problems.empty();
    for (const std::string& problem : shared->problems) log_line(Severity::error, problem + ".");
    for (std::size_t i = 0; i < work_.bytes.size(); ++i) {
      if (results_.is_done(i)) continue;
      is_whole = false;
      results_.add(
          i, work_.give_up(i, "Process " + std::to_string(shared->owner[i]) + " gave no answer: it died."));
    }
    return is_whole;
  }

 private:
  std::string compare_own(std::span<const std::size_t> pieces) {
    std::vector<Json> answers(pieces.size());
    compare_all(pieces.size(), share_.threads, results_, [&](std::size_t n) {
      GroupResult result = work_.compare(pieces[n]);
      if (share_.rank != 0) answers[n] = to_json(pieces[n], result);
      return std::pair(pieces[n], std::move(result));
    });
    if (share_.rank == 0) return {};
    const auto bytes = Json::to_msgpack(answers);
    return {bytes.begin(), bytes.end()};
  }

  void take_answers(const std::string& bytes) {
    const Json answers = Json::from_msgpack(bytes, true, false);
    if (!answers.is_array()) return;
    for (const Json& answer : answers) results_.add(answer[0].get<std::size_t>(), from_json(answer));
  }

  const CompareWork& work_;
  const compare::Share& share_;
  OrderedResults& results_;
};

}  // namespace

compare::GroupResult run_work(const CompareWork& work, const compare::Share* share) {
  OrderedResults results(work.bytes);
  bool is_whole = true;
  if (share == nullptr)
    compare_all(work.bytes.size(), 0, results, [&](std::size_t i) { return std::pair(i, work.compare(i)); });
  else
    is_whole = SharedRun(work, *share, results).run();
  GroupResult merged = results.merge();
  if (!is_whole) merged.status = Status::incomplete;
  return merged;
}

}  // namespace opdump::msaccucmp
