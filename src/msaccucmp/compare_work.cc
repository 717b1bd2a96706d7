#include "msaccucmp/compare_work.h"

#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <map>
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

constexpr std::size_t kMostWaiting = 32 << 20;   // bytes of results whose turn has not come
constexpr std::size_t kPiecesOfRound = 1 << 15;  // that several processes share at a time

// A result, with what it says as it is printed.
struct Told {
  std::string text;
  GroupResult result;

  std::size_t size() const {
    std::size_t bytes = sizeof(Told) + text.size();
    for (const PackedRow& row : result.rows) bytes += sizeof(PackedRow) + row.bytes().size();
    return bytes;
  }
};

// Puts together what comes of pieces that are compared at once, in their order.
class OrderedResults {
 public:
  explicit OrderedResults(const CompareWork& work) : bytes_(work.bytes), is_done_(work.count) {
    for (const std::uint64_t each : bytes_) total_bytes_ += each;
  }

  void add(std::size_t i, GroupResult result) {
    Finished finished;
    finished.emplace_back(i, std::move(result));
    add(std::move(finished), false);
  }

  // Of pieces in rising order. With `may_wait` a thread that is far ahead of the others waits for them: one
  // of them must have the piece whose turn it is.
  using Finished = std::vector<std::pair<std::size_t, GroupResult>>;
  void add(Finished finished, bool may_wait) {
    std::vector<Told> told;
    for (auto& [i, result] : finished) told.push_back({take_text(result.journal), std::move(result)});
    std::unique_lock lock(mutex_);
    if (may_wait)
      has_room_.wait(lock, [&] { return waiting_bytes_ < kMostWaiting || finished.front().first == next_; });
    for (std::size_t n = 0; n < finished.size(); ++n) {
      const std::size_t i = finished[n].first;
      waiting_bytes_ += told[n].size();
      waiting_.emplace(i, std::move(told[n]));
      is_done_[i] = true;
      if (!bytes_.empty()) done_bytes_ += bytes_[i];
    }
    take_waiting();
    progress_.update(done_bytes_, total_bytes_);
    if (!is_writing_) write_ready(lock);
  }

  bool is_done(std::size_t i) const { return is_done_[i]; }

  // When all pieces are there.
  WorkResult take() { return std::move(merged_); }

 private:
  void take_waiting() {
    const std::size_t before = next_;
    for (; !waiting_.empty() && waiting_.begin()->first == next_; ++next_) {
      const Told told = std::move(waiting_.extract(waiting_.begin()).mapped());
      waiting_bytes_ -= told.size();
      ready_ += told.text;
      if (merged_.status == Status::ok) merged_.status = told.result.status;
      merged_.is_matched = merged_.is_matched || told.result.is_matched;
      for (const PackedRow& row : told.result.rows) merged_.rows.add(row);
    }
    if (next_ != before) has_room_.notify_all();
  }

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
  std::condition_variable has_room_;
  std::map<std::size_t, Told> waiting_;  // for their turn
  std::size_t waiting_bytes_ = 0;
  std::string ready_;  // in order, to be written
  bool is_writing_ = false;
  WorkResult merged_;
  const std::vector<std::uint64_t>& bytes_;
  std::vector<bool> is_done_;
  std::uint64_t done_bytes_ = 0, total_bytes_ = 0;
  std::size_t next_ = 0;
  bool is_terminal_ = ::isatty(STDERR_FILENO) == 1;
  terminal::Progress progress_{"comparing operators"};
};

// Calls compare(n) for 0 ... count - 1; `may_wait` as in OrderedResults.
template <typename Compare>
void compare_all(std::size_t count, unsigned threads, bool may_wait, OrderedResults& results,
                 const Compare& compare) {
  const std::size_t at_once = pieces_at_once(count, threads);
  parallel_for((count + at_once - 1) / at_once, threads, [&](std::size_t part) {
    OrderedResults::Finished finished;
    for (std::size_t n = part * at_once; n < std::min(count, (part + 1) * at_once); ++n)
      finished.push_back(compare(n));
    results.add(std::move(finished), may_wait);
  });
}

// ---- Results as bytes, each after its length. The processes are the same program.

std::string encode(std::size_t piece, const GroupResult& result) {
  Json lines = Json::array();
  result.journal.visit([&](const Journal::Line& line) {
    lines.push_back({static_cast<int>(line.severity), line.text});
  });
  Json rows = Json::array();
  for (const PackedRow& row : result.rows) rows.push_back(row.cells());
  const auto packed = Json::to_msgpack(
      {piece, static_cast<int>(result.status), result.is_matched, std::move(rows), std::move(lines)});
  const std::uint64_t length = packed.size();
  std::string bytes(reinterpret_cast<const char*>(&length), sizeof length);
  return bytes.append(packed.begin(), packed.end());
}

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

// Calls take(json) for each result in `bytes`.
template <typename Take>
void decode(std::string_view bytes, const Take& take) {
  for (std::uint64_t length = 0; bytes.size() >= sizeof length;) {
    std::memcpy(&length, bytes.data(), sizeof length);
    const std::string_view packed = bytes.substr(sizeof length, length);
    if (const Json json = Json::from_msgpack(packed, true, false); json.is_array()) take(json);
    bytes.remove_prefix(sizeof length + packed.size());
  }
}

// Several processes do the pieces in rounds, so that what they tell each other is not too much at a time.
class SharedRun {
 public:
  SharedRun(const CompareWork& work, const compare::Share& share, OrderedResults& results)
      : work_(work), share_(share), results_(results) {}

  // Whether all processes answered; the leader says which did not.
  bool run() {
    const auto is_whole = run_rounds();
    if (!is_whole) log_line(Severity::error, is_whole.error().message());
    return is_whole && *is_whole;
  }

 private:
  Result<bool> run_rounds() {
    const std::size_t rounds = std::max<std::size_t>(1, (work_.count + kPiecesOfRound - 1) / kPiecesOfRound);
    OPDUMP_TRY(auto shared, compare::SharedWork::join(share_, compare::digest_of(work_.seen), rounds));
    if (!shared.takes_part()) {
      OPDUMP_CHECK_OK(shared.sit_out());
      return false;
    }
    for (const std::string& problem : shared.problems()) log_line(Severity::error, problem + ".");
    bool is_whole = shared.problems().empty();
    for (std::size_t round = 0; round < rounds; ++round) {
      const std::size_t first = round * kPiecesOfRound;
      OPDUMP_TRY(const bool is_done, run_round(shared, first, std::min(kPiecesOfRound, work_.count - first)));
      is_whole = is_whole && is_done;
    }
    return is_whole;
  }

  Result<bool> run_round(compare::SharedWork& work, std::size_t first, std::size_t count) {
    OPDUMP_TRY(const auto shared,
               work.run(std::span(work_.bytes).subspan(first, count),
                        [&](std::span<const std::size_t> pieces) { return compare_own(first, pieces); }));
    for (const std::size_t rank : shared.workers)
      if (rank != share_.rank)
        decode(shared.answers[rank],
               [&](const Json& answer) { results_.add(answer[0].get<std::size_t>(), from_json(answer)); });
    bool is_whole = true;
    for (std::size_t i = first; i < first + count; ++i) {
      if (results_.is_done(i)) continue;
      is_whole = false;
      const std::string owner = std::to_string(shared.owner[i - first]);
      results_.add(i, work_.give_up(i, "Process " + owner + " gave no answer: it died."));
    }
    return is_whole;
  }

  std::string compare_own(std::size_t first, std::span<const std::size_t> pieces) {
    std::vector<std::string> answers(share_.rank == 0 ? 0 : pieces.size());
    compare_all(pieces.size(), share_.threads, false, results_, [&](std::size_t n) {
      const std::size_t piece = first + pieces[n];
      GroupResult result = work_.compare(piece);
      if (share_.rank != 0) answers[n] = encode(piece, result);
      return std::pair(piece, std::move(result));
    });
    std::string bytes;
    for (const std::string& answer : answers) bytes += answer;
    return bytes;
  }

  const CompareWork& work_;
  const compare::Share& share_;
  OrderedResults& results_;
};

}  // namespace

WorkResult run_work(const CompareWork& work, const compare::Share* share) {
  OrderedResults results(work);
  bool is_whole = true;
  if (share == nullptr)
    compare_all(work.count, 0, true, results, [&](std::size_t i) { return std::pair(i, work.compare(i)); });
  else
    is_whole = SharedRun(work, *share, results).run();
  WorkResult merged = results.take();
  if (!is_whole) merged.status = Status::incomplete;
  return merged;
}

}  // namespace opdump::msaccucmp
