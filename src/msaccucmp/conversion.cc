#include "msaccucmp/conversion.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <numeric>
#include <span>
#include <utility>

#include "base/file_copy.h"
#include "base/spill.h"
#include "base/worker_pool.h"
#include "compare/shared_work.h"

namespace opdump::msaccucmp {
namespace fs = std::filesystem;
namespace {

using Json = nlohmann::json;

constexpr std::string_view kFailedList = "convert_failed_file_list.txt";
constexpr std::size_t kFilesOfRound = 1 << 15;  // that several processes share at a time

// The lines that tell how far it is: the first, then one a second, and the last.
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

// The files that failed: their lines are put aside.
class Failures {
 public:
  void add(std::size_t file, const ConvertedFile& converted) {
    if (converted.status == Status::ok) return;
    const std::string line = converted.failure + "\n";
    failed_.push_back({file, lines_.size(), static_cast<std::uint32_t>(line.size()), converted.status});
    lines_.append(line);
  }

  void sort() { std::ranges::sort(failed_, {}, &Failed::file); }

  // Of equally common ones that of the first file, when they are sorted. The original's is that of the first
  // in the directory's order, which is any.
  Status commonest() const {
    std::map<Status, std::size_t> counts;
    for (const Failed& each : failed_) ++counts[each.status];
    const auto is_commoner = [&](const Failed& a, const Failed& b) {
      return counts[a.status] < counts[b.status];
    };
    const auto found = std::ranges::max_element(failed_, is_commoner);
    return found == failed_.end() ? Status::ok : found->status;
  }

  // Appends the lines to `path`. Errors: io.
  Result<> append_to(const fs::path& path) const {
    constexpr std::size_t kAtOnce = 4 << 20;
    std::string text;
    for (std::size_t i = 0; i < failed_.size(); ++i) {
      std::string line(failed_[i].bytes, '\0');
      OPDUMP_CHECK_OK(lines_.read(failed_[i].line, line));
      text += line;
      if (text.size() < kAtOnce && i + 1 < failed_.size()) continue;
      OPDUMP_CHECK_OK(append_file(path, text, 0600));
      text.clear();
    }
    return ok();
  }

 private:
  struct Failed {
    std::uint64_t file = 0, line = 0;  // the line's place in lines_
    std::uint32_t bytes = 0;
    Status status = Status::ok;
  };
  std::vector<Failed> failed_;
  Spill lines_;
};

class Conversion {
 public:
  Conversion(const ConvertOptions& options, const FileList& files, std::size_t total)
      : options_(options), files_(files), progress_(total), bytes_(files_.size()) {
    parallel_for(files_.size(), 0, [&](std::size_t i) {
      std::error_code error;
      const std::uint64_t bytes = fs::file_size(files_.at(i), error);
      if (!error) bytes_[i] = bytes;
    });
  }

  Status run() {
    if (options_.group == nullptr) {
      std::vector<std::size_t> all(files_.size());
      std::iota(all.begin(), all.end(), 0);
      convert(all);
    } else if (const Status status = share(); status != Status::ok || !options_.group->is_leader()) {
      return status;
    }
    const Status status = note_failures();
    return status == Status::ok && !left_out_.empty() ? Status::invalid_path : status;
  }

 private:
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
    Log log(true);
    const ConvertedFile converted = convert_dump_file(files_.at(i), options, log);
    const std::string text = log.text();
    const std::lock_guard lock(mutex_);
    failures_.add(i, converted);
    if (options_.group != nullptr) note_answer(i, converted, log);
    std::fputs(text.c_str(), stderr);
    progress_.count_one();
  }

  // Converts a part of the files and learns from the others what became of theirs, in rounds, so that it is
  // not too much at a time. The leader tells it, and converts what a process that died has left.
  Status share() {
    const group::Group& group = *options_.group;
    const compare::Share share{group.rank(), group.size(), 0,
                               [&](const std::string& mine) { return group.exchange(mine); }};
    const std::size_t rounds = std::max<std::size_t>(1, (files_.size() + kFilesOfRound - 1) / kFilesOfRound);
    auto work = compare::SharedWork::join(share, compare::digest_of(description()), rounds);
    if (!work) return fail(Status::invalid_path, work.error().message());
    if (!work->takes_part()) {
      const auto waited = work->sit_out();
      return waited ? Status::ok : fail(Status::invalid_path, waited.error().message());
    }
    left_out_ = work->problems();
    for (std::size_t first = 0, round = 0; round < rounds; ++round, first += kFilesOfRound) {
      const std::size_t count = std::min(kFilesOfRound, files_.size() - first);
      const auto shared =
          work->run(std::span(bytes_).subspan(first, count),
                    [&](std::span<const std::size_t> own) { return convert_own(first, own); });
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
  void take_round(std::size_t first, const compare::SharedAnswers& shared) {
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
  std::string description() const {
    std::string seen;
    for (std::size_t i = 0; i < files_.size(); ++i)
      compare::note_seen(seen, files_.at(i).filename().string() + " " + std::to_string(bytes_[i]));
    return seen;
  }

  // Each answer is behind its length.
  void note_answer(std::size_t i, const ConvertedFile& converted, const Log& log) {
    Json lines = Json::array();
    for (const auto& [severity, text] : log.lines()) lines.push_back({static_cast<int>(severity), text});
    const auto packed =
        Json::to_msgpack({i, static_cast<int>(converted.status), converted.failure, std::move(lines)});
    const std::uint64_t length = packed.size();
    answers_.append(reinterpret_cast<const char*>(&length), sizeof length);
    answers_.append(packed.begin(), packed.end());
  }

  // Of a process that runs the same program.
  void take_answers(std::string_view bytes, std::size_t first, std::vector<bool>& is_done) {
    for (std::uint64_t length = 0; bytes.size() >= sizeof length;) {
      std::memcpy(&length, bytes.data(), sizeof length);
      const std::string_view packed = bytes.substr(sizeof length, length);
      bytes.remove_prefix(sizeof length + packed.size());
      const Json answer = Json::from_msgpack(packed, true, false);
      if (!answer.is_array()) continue;
      const auto i = answer[0].get<std::size_t>();
      failures_.add(i, {static_cast<Status>(answer[1].get<int>()), answer[2].get<std::string>()});
      for (const Json& line : answer[3])
        log_line(static_cast<Severity>(line[0].get<int>()), line[1].get<std::string>());
      progress_.count_one();
      is_done[i - first] = true;
    }
  }

  Status note_failures() {
    failures_.sort();
    const Status status = failures_.commonest();
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
  std::string answers_;                // what this process tells the others: index, status, failure, log
};

}  // namespace

bool FileList::add(const std::string& name) {
  const auto place = names_.add(name);
  if (place) places_.push_back(*place);
  return place.has_value();
}

void FileList::sort() {
  std::ranges::sort(places_, {}, [&](std::uint32_t place) { return names_.at(place); });
}

Status convert_files(const ConvertOptions& options, const FileList& files, std::size_t total) {
  return Conversion(options, files, total).run();
}

}  // namespace opdump::msaccucmp
