#include "msaccucmp/convert/conversion.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <map>
#include <mutex>
#include <numeric>
#include <span>
#include <utility>

#include "base/file/file_copy.h"
#include "base/text/packing.h"
#include "base/worker_pool.h"
#include "group/shared_work.h"
#include "msaccucmp/log.h"
#include "msaccucmp/paths.h"
#include "terminal/output.h"

namespace opdump::msaccucmp {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kFailedList = "convert_failed_file_list.txt";
constexpr std::size_t kFilesOfRound = 1 << 15;  // that several processes share at a time

// The lines of progress: the first, then one a second, and the last.
class ProgressLines {
 public:
  explicit ProgressLines(std::size_t total) : total_(total) {}

  void count_one() {
    ++done_;
    const double percent =
        std::round(static_cast<double>(done_) * 10000.0 / static_cast<double>(total_)) / 100;
    const auto now = std::chrono::steady_clock::now();
    if (percent < 100 && now < next_) return;
    next_ = now + std::chrono::seconds(1);
    const auto filled = static_cast<std::size_t>(percent / 2);
    log_line(Severity::info, "[ " + std::string(filled, '>') + std::string(kWidth - filled, ' ') + " " +
                                 std::to_string(static_cast<int>(percent)) + "%]");
  }

 private:
  static constexpr std::size_t kWidth = 50;
  std::size_t total_, done_ = 0;
  std::chrono::steady_clock::time_point next_{};
};

// The files that failed.
class Failures {
 public:
  void add(std::size_t file, const ConvertedFile& converted) {
    if (converted.status == Status::ok) return;
    lines_.emplace(file, converted.failure + "\n");
    auto& [count, first] = statuses_.try_emplace(converted.status, Files{0, file}).first->second;
    ++count;
    first = std::min(first, file);
  }

  // Returns that of the first file if several are equally common. The original's is that of the first in the
  // directory's order, which is any.
  Status commonest() const {
    const auto is_less = [](const auto& a, const auto& b) {
      return a.second.count != b.second.count ? a.second.count < b.second.count
                                              : a.second.first > b.second.first;
    };
    const auto found = std::ranges::max_element(statuses_, is_less);
    return found == statuses_.end() ? Status::ok : found->first;
  }

  Status first() const {
    const auto found =
        std::ranges::min_element(statuses_, {}, [](const auto& status) { return status.second.first; });
    return found == statuses_.end() ? Status::ok : found->first;
  }

  // Appends the lines to `path`, by file. Errors: io.
  Result<> append_to(const fs::path& path) const {
    std::string text;
    for (const auto& [file, line] : lines_) text += line;
    return append_file(path, text, 0600);
  }

 private:
  struct Files {
    std::size_t count = 0, first = 0;
  };
  std::map<std::size_t, std::string> lines_;  // by file
  std::map<Status, Files> statuses_;
};

class Conversion {
 public:
  Conversion(const ConvertOptions& options, const FileList& files, std::size_t total)
      : options_(options), files_(files), progress_(total) {}

  Status run() {
    find_sizes();
    if (options_.group == nullptr) {
      for (std::size_t first = 0; first < files_.size(); first += kFilesOfRound) {
        std::vector<std::size_t> indices(std::min(kFilesOfRound, files_.size() - first));
        std::iota(indices.begin(), indices.end(), first);
        convert(indices);
      }
    } else if (const Status status = share(); status != Status::ok || !options_.group->is_leader()) {
      return status;
    }
    const Status status = note_failures();
    return status == Status::ok && !left_out_.empty() ? Status::invalid_path : status;
  }

 private:
  void find_sizes() {
    bytes_.resize(files_.size());
    parallel_for(files_.size(), 0, [&](std::size_t i) {
      std::error_code error;
      const std::uint64_t bytes = fs::file_size(files_.at(i), error);
      if (!error) bytes_[i] = bytes;
    });
  }

  void convert(std::span<const std::size_t> indices) {
    const std::size_t here = options_.group == nullptr ? 1 : options_.group->size_here();
    const unsigned threads = std::max<unsigned>(1, worker_count(0) / static_cast<unsigned>(here));
    parallel_for(indices.size(), threads, [&](std::size_t n) {
      if (bytes_[indices[n]] <= kBigFile) convert(indices[n], 1);
    });
    for (const std::size_t i : indices)
      if (bytes_[i] > kBigFile) convert(i, threads);
  }

  void convert(std::size_t i, unsigned threads) {
    ConvertOptions options = options_;
    if (options.format) options.format->threads = threads;
    Log log;
    const ConvertedFile converted = convert_dump_file(files_.at(i), options, log);
    const std::lock_guard lock(mutex_);
    failures_.add(i, converted);
    if (options_.group != nullptr) note_answer(i, converted, log);
    log.print();
    progress_.count_one();
  }

  // Converts a part of the files and learns from the others what became of theirs, in rounds, so that
  // messages stay small. The leader logs it, and converts what a process that died has left.
  Status share() {
    const group::Group& group = *options_.group;
    const group::Share share{group.rank(), group.size(), 0,
                             [&](const std::string& mine) { return group.exchange(mine); }};
    const std::size_t rounds = std::max<std::size_t>(1, (files_.size() + kFilesOfRound - 1) / kFilesOfRound);
    auto work = group::SharedWork::join(share, digest(), rounds);
    if (!work) return fail(Status::invalid_path, work.error().message());
    if (!work->takes_part()) {
      const auto waited = work->skip_all();
      return waited ? Status::ok : fail(Status::invalid_path, waited.error().message());
    }
    left_out_ = work->problems();
    for (std::size_t first = 0, round = 0; round < rounds; ++round, first += kFilesOfRound) {
      const std::size_t count = std::min(kFilesOfRound, files_.size() - first);
      std::vector<std::uint64_t> bytes(count);
      for (std::size_t n = 0; n < count; ++n) bytes[n] = bytes_[first + n];
      const auto shared =
          work->run(bytes, [&](std::span<const std::size_t> own) { return convert_own(first, own); });
      if (!shared) return fail(Status::invalid_path, shared.error().message());
      if (group.is_leader()) take_round(first, *shared);
    }
    if (!group.is_leader()) return Status::ok;
    for (const std::string& process : left_out_) log_line(Severity::error, process);
    return Status::ok;
  }

  std::string convert_own(std::size_t first, std::span<const std::size_t> own) {
    std::vector<std::size_t> indices(own.begin(), own.end());
    for (std::size_t& i : indices) i += first;
    convert(indices);
    return std::exchange(answers_, {});
  }

  // What the leader does when the others have answered.
  void take_round(std::size_t first, const group::SharedAnswers& shared) {
    std::vector<bool> is_done(shared.owner.size());
    for (std::size_t n = 0; n < is_done.size(); ++n) is_done[n] = shared.owner[n] == 0;
    for (const std::size_t rank : shared.workers) {
      if (shared.answers[rank].empty() && std::ranges::count(shared.owner, rank) > 0)
        left_out_.push_back("process " + std::to_string(rank) + ": it died, and process 0 did its part");
      if (rank != 0) take_answers(shared.answers[rank], first, is_done);
    }
    std::vector<std::size_t> left;
    for (std::size_t n = 0; n < is_done.size(); ++n)
      if (!is_done[n]) left.push_back(first + n);
    convert(left);
  }

  // Equal for processes that would convert the same.
  std::string digest() const {
    std::string seen;
    for (std::size_t i = 0; i < files_.size(); ++i)
      group::note_seen(seen, files_.at(i).filename().string() + " " + std::to_string(bytes_[i]));
    return group::digest_of(seen);
  }

  // The answer of this process about a file: number, status, failure and the lines of the log.
  void note_answer(std::size_t i, const ConvertedFile& converted, const Log& log) {
    Packer out(answers_);
    out.number(i);
    out.signed_number(static_cast<int>(converted.status));
    out.text(converted.failure);
    out.number(log.lines().size());
    for (const auto& [severity, text] : log.lines()) {
      out.signed_number(static_cast<int>(severity));
      out.text(text);
    }
  }

  // Of a process that runs the same program.
  void take_answers(std::string_view answers, std::size_t first, std::vector<bool>& is_done) {
    for (Unpacker in(answers); !in.is_empty();) {
      const std::uint64_t i = in.number();
      const auto status = static_cast<Status>(in.signed_number());
      const std::string failure(in.text());
      std::vector<std::pair<Severity, std::string_view>> lines;
      for (std::uint64_t left = in.number(); left > 0 && in.is_ok(); --left) {
        const auto severity = static_cast<Severity>(in.signed_number());
        lines.emplace_back(severity, in.text());
      }
      if (!in.is_ok() || i < first || i - first >= is_done.size()) continue;
      failures_.add(i, {status, failure});
      for (const auto& [severity, text] : lines) log_line(severity, text);
      progress_.count_one();
      is_done[i - first] = true;
    }
  }

  Status note_failures() {
    const Status status = files_.is_listed() ? failures_.first() : failures_.commonest();
    if (status == Status::ok) return status;
    const fs::path path = options_.output / kFailedList;
    if (auto written = failures_.append_to(path); !written)
      return fail(status, "Failed to write data to " + in_quotes(path.string()) + ". " +
                              python_os_error(written.error(), path) + " ");
    log_line(Severity::info, "The list of files that failed to be converted has been written to " +
                                 in_quotes(path.string()) + ".");
    return status;
  }

  const ConvertOptions& options_;
  const FileList& files_;
  std::mutex mutex_;  // guards progress_, failures_, answers_ and the order of the log's lines
  ProgressLines progress_;
  Failures failures_;
  std::vector<std::uint64_t> bytes_;   // of the files
  std::vector<std::string> left_out_;  // processes that did not do their part
  std::string answers_;                // of this process to the others
};

}  // namespace

void FileList::sort() { std::ranges::sort(names_); }

Status convert_files(const ConvertOptions& options, const FileList& files, std::size_t total) {
  return Conversion(options, files, total).run();
}

}  // namespace opdump::msaccucmp
