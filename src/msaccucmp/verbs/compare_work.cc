#include "msaccucmp/verbs/compare_work.h"

#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "base/text/packing.h"
#include "base/worker_pool.h"
#include "msaccucmp/log.h"
#include "msaccucmp/verbs/compare.h"
#include "terminal/output.h"
#include "terminal/progress.h"

namespace opdump::msaccucmp {
namespace {

constexpr std::size_t kMostWaiting = 32 << 20;   // bytes of results whose turn has not come, or of lines
constexpr std::size_t kPiecesOfRound = 1 << 15;  // that several processes share at a time

// A result, with what it says as it is printed.
struct PrintedResult {
  std::string text;
  GroupResult result;

  std::size_t size() const {
    std::size_t bytes = sizeof(PrintedResult) + text.size();
    for (const PackedRow& row : result.rows) bytes += sizeof(PackedRow) + row.bytes().size();
    return bytes;
  }
};

// Puts together what comes of pieces that are compared at once, in their order.
class OrderedResults {
 public:
  // `bytes` of each piece, or empty.
  OrderedResults(std::size_t count, std::vector<std::uint64_t> bytes)
      : bytes_(std::move(bytes)), is_done_(count) {
    for (const std::uint64_t of_piece : bytes_) total_bytes_ += of_piece;
  }

  void add(std::size_t i, GroupResult result) {
    Finished finished;
    finished.emplace_back(i, std::move(result));
    add(std::move(finished), false);
  }

  // Takes results of pieces in rising order. With `may_wait` a thread that is far ahead of the others waits
  // for them -- one of them must have the piece whose turn it is -- or for the reader of the lines.
  using Finished = std::vector<std::pair<std::size_t, GroupResult>>;
  void add(Finished finished, bool may_wait) {
    std::vector<PrintedResult> printed;
    for (auto& [i, result] : finished) printed.push_back({result.log.take_text(), std::move(result)});
    std::unique_lock lock(mutex_);
    if (may_wait)
      has_room_.wait(lock, [&] {
        return ready_.size() < kMostWaiting &&
               (waiting_bytes_ < kMostWaiting || finished.front().first == next_);
      });
    for (std::size_t n = 0; n < finished.size(); ++n) {
      const std::size_t i = finished[n].first;
      waiting_bytes_ += printed[n].size();
      waiting_.emplace(i, std::move(printed[n]));
      is_done_[i] = true;
      if (!bytes_.empty()) done_bytes_ += bytes_[i];
    }
    take_waiting();
    progress_.update(done_bytes_, total_bytes_);
    if (!is_writing_) write_ready(lock);
  }

  bool is_done(std::size_t i) const { return is_done_[i]; }
  std::uint64_t bytes_of(std::size_t i) const { return bytes_[i]; }

  // When all pieces are there.
  WorkResult take() {
    merged_.rows.sort();
    return std::move(merged_);
  }

 private:
  void take_waiting() {
    const std::size_t before = next_;
    for (; !waiting_.empty() && waiting_.begin()->first == next_; ++next_) {
      const PrintedResult printed = std::move(waiting_.extract(waiting_.begin()).mapped());
      waiting_bytes_ -= printed.size();
      ready_ += printed.text;
      if (merged_.status == Status::ok) merged_.status = printed.result.status;
      merged_.is_matched = merged_.is_matched || printed.result.is_matched;
      for (const PackedRow& row : printed.result.rows) merged_.rows.add(row);
    }
    if (next_ != before) has_room_.notify_all();
  }

  // One thread writes; the others leave what they have to it and go on.
  void write_ready(std::unique_lock<std::mutex>& lock) {
    is_writing_ = true;
    while (!ready_.empty()) {
      const std::string text = std::exchange(ready_, {});
      has_room_.notify_all();
      lock.unlock();
      if (is_terminal_) std::fputs("\r\033[K", stderr);  // over the bar
      terminal::print_log(text);
      lock.lock();
    }
    is_writing_ = false;
  }

  std::mutex mutex_;  // guards all below
  std::condition_variable has_room_;
  std::map<std::size_t, PrintedResult> waiting_;  // for their turn
  std::size_t waiting_bytes_ = 0;
  std::string ready_;  // in order, to be written
  bool is_writing_ = false;
  WorkResult merged_;
  std::vector<std::uint64_t> bytes_;
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

// ---- Results as bytes. The processes are the same program.

void encode(std::size_t piece, const GroupResult& result, std::string& bytes) {
  Packer out(bytes);
  out.number(piece);
  out.signed_number(static_cast<int>(result.status));
  out.number(result.is_matched ? 1 : 0);
  out.number(result.rows.size());
  for (const PackedRow& row : result.rows) out.text(row.bytes());
  for (const LogLine& line : result.log.lines()) {
    out.number(1);  // there is a line
    out.signed_number(static_cast<int>(line.severity));
    out.text(line.text);
  }
  out.number(0);
}

GroupResult decode_result(Unpacker& in) {
  GroupResult result;
  result.status = static_cast<Status>(in.signed_number());
  result.is_matched = in.number() != 0;
  for (std::uint64_t left = in.number(); left > 0 && in.is_ok(); --left)
    result.rows.push_back(PackedRow::of_bytes(std::string(in.text())));
  while (in.number() != 0) {
    const auto severity = static_cast<Severity>(in.signed_number());
    result.log.add(severity, std::string(in.text()));
  }
  return result;
}

// Several processes do the pieces in rounds, so that messages between them stay small.
class SharedRun {
 public:
  SharedRun(const CompareWork& work, const group::Share& share, OrderedResults& results)
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
    OPDUMP_TRY(auto shared, group::SharedWork::join(share_, work_.digest, rounds));
    if (!shared.takes_part()) {
      OPDUMP_CHECK_OK(shared.skip_all());
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

  Result<bool> run_round(group::SharedWork& work, std::size_t first, std::size_t count) {
    std::vector<std::uint64_t> bytes(count);
    for (std::size_t i = 0; i < count; ++i) bytes[i] = results_.bytes_of(first + i);
    OPDUMP_TRY(const auto shared, work.run(bytes, [&](std::span<const std::size_t> pieces) {
      return compare_own(first, pieces);
    }));
    for (const std::size_t rank : shared.workers)
      if (rank != share_.rank) take_answers(shared.answers[rank]);
    bool is_whole = true;
    for (std::size_t i = first; i < first + count; ++i) {
      if (results_.is_done(i)) continue;
      is_whole = false;
      const std::string owner = std::to_string(shared.owner[i - first]);
      results_.add(i, work_.give_up(i, "Process " + owner + " gave no answer: it died."));
    }
    return is_whole;
  }

  void take_answers(std::string_view answers) {
    for (Unpacker in(answers); !in.is_empty();) {
      const std::uint64_t piece = in.number();
      GroupResult result = decode_result(in);
      if (in.is_ok() && piece < work_.count) results_.add(piece, std::move(result));
    }
  }

  std::string compare_own(std::size_t first, std::span<const std::size_t> pieces) {
    std::vector<std::string> answers(share_.rank == 0 ? 0 : pieces.size());
    compare_all(pieces.size(), share_.threads, false, results_, [&](std::size_t n) {
      const std::size_t piece = first + pieces[n];
      GroupResult result = work_.compare(piece);
      if (share_.rank != 0) encode(piece, result, answers[n]);
      return std::pair(piece, std::move(result));
    });
    std::string bytes;
    for (const std::string& answer : answers) bytes += answer;
    return bytes;
  }

  const CompareWork& work_;
  const group::Share& share_;
  OrderedResults& results_;
};

}  // namespace

WorkResult run_work(const CompareWork& work, const group::Share* share) {
  std::vector<std::uint64_t> bytes;
  if (work.bytes_of) {
    bytes.resize(work.count);
    parallel_for(work.count, 0, [&](std::size_t i) { bytes[i] = work.bytes_of(i); });
  }
  OrderedResults results(work.count, std::move(bytes));
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
