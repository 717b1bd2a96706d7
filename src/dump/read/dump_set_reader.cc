#include "dump/read/dump_set_reader.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>

#include "dump/read/graph_names.h"
#include "dump/read/log_index.h"
#include "dump/read/log_join.h"

namespace opdump::dump {
namespace fs = std::filesystem;

namespace {

constexpr std::size_t kCheckedAtOnce = 1 << 15;  // slots

// True if `rank` is a device so far.
bool is_by_device(const Location& location) {
  return !location.has_rank &&
         (location.scheme == Scheme::model_tree || location.scheme == Scheme::time_tree);
}

}  // namespace

Result<DumpSet> DumpSetReader::read(const fs::path& path, const LogSink& log, FingerprintFiles* followed) {
  OPDUMP_TRY(DirectoryWalk walk, DirectoryWalk::begin(path));
  DumpSetReader reader(std::move(walk));
  reader.set_.path_ = path;
  reader.followed_ = followed;
  OPDUMP_CHECK_OK(reader.read_steps());
  reader.find_ranks();
  reader.place_devices();
  reader.place_constants();
  for (const auto& [rank, directory] : reader.set_.rank_directories_)
    OPDUMP_CHECK_OK(reader.read_rank(rank, directory));
  reader.check_run_ids();
  reader.name_models();
  reader.set_.runs_.sort();
  reader.set_.filter_ = find_filter(reader.set_.runs_, path, reader.set_.rank_directories_,
                                    reader.set_.statuses_, reader.absent_);
  std::ranges::sort(reader.set_.overflows_, {}, [](const Overflow& overflow) {
    return std::tuple(overflow.rank, overflow.graph_id, overflow.step, overflow.file.native(), overflow.task,
                      overflow.stream, overflow.status);
  });
  reader.log_older(log);
  return std::move(reader.set_);
}

// ---- Stage 1 and 2: the directories and what is in them.

Result<> DumpSetReader::read_steps() {
  OPDUMP_CHECK_OK(walk_.run(set_.problems_, [&](StepDirectory step) { read_directory(std::move(step)); }));
  check_files();
  const bool is_empty = set_.runs_.empty() && set_.overflows_.empty() && device_overflows_.empty() &&
                        walk_.rank_directories().empty();
  return is_empty ? Result<>(nothing_found()) : ok();
}

Error DumpSetReader::nothing_found() const {
  std::string text = set_.path_.string() + ": no dump";
  const std::vector<Problem>& problems = set_.problems();
  if (walk_.is_file() && !problems.empty()) return {Code::not_found, text + ": " + problems[0].what};
  text +=
      ": expected rank_N/net/graph/step or another tree of MindSpore's or CANN's, .npy, .npz, .safetensors, "
      ".h5 or .pt files, statistic.csv, or msprobe's dump.json";
  if (!problems.empty()) text += "; " + problems[0].path.string() + ": " + problems[0].what;
  return {Code::not_found, std::move(text)};
}

void DumpSetReader::read_directory(StepDirectory step) {
  Location location = step.location;
  if (location.is_process) location.rank = number_process(location.rank);
  const bool has_fingerprints = step.files.names.have_fingerprints();
  if (has_fingerprints) location.graph_id = location.step = 0;  // its rows say theirs
  step.files.followed = followed_;
  std::optional<std::string> network;  // looked up once there is data
  const auto find_network = [&] {
    if (network) return;
    network = has_fingerprints ? std::string() : networks_.add(step);
    if (!is_by_device(location)) return;
    std::ranges::copy_if(step.trail, std::inserter(times_, times_.end()), is_time);
    if (beside_) return;
    beside_ = "/";
    for (std::size_t i = 0; i < location.root_length; ++i) *beside_ /= step.trail[i];
  };
  std::optional<std::tuple<std::uint32_t, std::int64_t, std::int64_t>> last;  // rank, graph and step
  std::uint32_t section = 0;                                                  // of last
  const auto take = [&](const OperatorRun& run, std::span<const std::uint32_t> slots) {
    find_network();
    const std::tuple place(run.rank, run.graph_id, run.step);
    if (last != place) section = add_section(location, run, *network);
    last = place;
    set_.runs_.add(section, run, slots);
    if (run.op != nullptr) {
      const std::uint32_t op = number_operator(location.rank + run.rank, *run.op);
      set_.runs_.set_operator(set_.runs_.size() - 1, op);
      if (run.form != nullptr)
        set_.runs_.add_call(op, {.operator_name = {}, .step = location.step + run.step, .form = *run.form});
    }
    unchecked_.insert(unchecked_.end(), slots.begin(), slots.end());
    if (unchecked_.size() >= kCheckedAtOnce) check_files();
  };
  const auto take_overflow = [&](Overflow overflow) {
    find_network();
    add_overflow(location, std::move(overflow));
  };
  read_step(std::move(step.files), set_.runs_.store(), set_.problems_, take, take_overflow,
            [&](RecordingStatus status) { add_status(location.rank, std::move(status)); });
}

// An operator is the same in every step.
std::uint32_t DumpSetReader::number_operator(std::uint32_t rank, const LoggedOperator& op) {
  std::uint32_t& number = described_[{rank, op.name}];
  if (number == 0) number = set_.runs_.add_operator(op);
  return number;
}

// Numbers processes without a rank: the first one counts as rank 0. Their own numbers differ from run to run.
std::uint32_t DumpSetReader::number_process(std::uint32_t process) {
  const auto known = std::ranges::find(processes_, process);
  const auto number = static_cast<std::uint32_t>(known - processes_.begin());
  if (known == processes_.end()) processes_.push_back(process);
  return number;
}

void DumpSetReader::check_files() {
  check_tensor_files(set_.runs_.store(), unchecked_, set_.problems_);
  unchecked_.clear();
}

// Adds the section of the rank, graph and step of `run`, counted from those of `location`.
std::uint32_t DumpSetReader::add_section(const Location& location, const OperatorRun& run,
                                         const std::string& network) {
  if (is_by_device(location)) devices_.insert(location.rank);
  const std::uint32_t rank = location.rank + run.rank;
  origins_.push_back({rank, is_by_device(location), location.constants});
  return set_.runs_.add_section({rank, location.graph_id + run.graph_id, location.step + run.step}, network);
}

void DumpSetReader::add_overflow(const Location& location, Overflow overflow) {
  overflow.rank = location.rank;
  overflow.graph_id = location.graph_id;
  overflow.step = location.step;
  if (is_by_device(location)) devices_.insert(location.rank);
  (is_by_device(location) ? device_overflows_ : set_.overflows_).push_back(std::move(overflow));
}

// Adds the status in one file of a rank. If there are several, what any of them lost is lost.
void DumpSetReader::add_status(std::uint32_t rank, RecordingStatus status) {
  const auto [known, is_new] = set_.statuses_.try_emplace(rank, status);
  if (is_new) return;
  RecordingStatus& all = known->second;
  std::ranges::move(status.losses, std::back_inserter(all.losses));
  if (all.state == "complete") all.state = status.state;
}

// ---- Stage 3: what lies outside of the step directories.

// Where ranks do not lead to the steps, their directories lie beside those that do: above what was opened, if
// that is a part of the dump only.
void DumpSetReader::find_ranks() {
  set_.rank_directories_ = walk_.rank_directories();
  if (set_.rank_directories_.empty() && beside_) set_.rank_directories_ = find_ranks_in(*beside_);
}

// A tree that knows devices only: of a single rank, the single device is its own; otherwise they bear the
// same number.
void DumpSetReader::place_devices() {
  std::optional<std::uint32_t> rank;
  if (devices_.size() == 1 && set_.rank_directories_.size() == 1)
    rank = set_.rank_directories_.begin()->first;
  for (std::uint32_t i = 0; rank && i < origins_.size(); ++i)
    if (origins_[i].is_by_device) set_.runs_.section(i).rank = *rank;
  for (Overflow& overflow : device_overflows_) {
    overflow.rank = rank.value_or(overflow.rank);
    set_.overflows_.push_back(std::move(overflow));
  }
}

// Constants are written once for a graph: they belong to the first of its steps.
void DumpSetReader::place_constants() {
  std::map<std::pair<std::uint32_t, std::int64_t>, std::int64_t> first_steps;  // by rank and graph
  for (std::uint32_t i = 0; i < origins_.size(); ++i) {
    if (origins_[i].is_constants) continue;
    const Runs::Section& section = set_.runs_.section(i);
    const auto [first, is_new] = first_steps.try_emplace({section.rank, section.graph_id}, section.step);
    first->second = std::min(first->second, section.step);
  }
  for (std::uint32_t i = 0; i < origins_.size(); ++i) {
    if (!origins_[i].is_constants) continue;
    Runs::Section& section = set_.runs_.section(i);
    const auto first = first_steps.find({section.rank, section.graph_id});
    section.step = first != first_steps.end() ? first->second : 0;
  }
}

Result<> DumpSetReader::read_rank(std::uint32_t rank, const fs::path& directory) {
  if (auto status = read_status(directory, times_)) {
    check_unread(rank, *status);
    set_.statuses_[rank] = std::move(*status);
  } else if (status.error().code() != Code::not_found) {
    set_.problems_.push_back({directory / kStatusFileName, status.error().message()});
  }

  LogIndex log(set_.runs_);
  const auto damaged = log.read(directory);
  if (!damaged) {
    if (damaged.error().code() == Code::not_found) {
      OPDUMP_TRY(const auto absent, name_by_graphs(set_.runs_, rank, directory, set_.problems_));
      for (const auto& [kind, count] : absent) absent_[kind] += count;
      return ok();
    }
    set_.problems_.push_back({directory / kOperatorLogName, damaged.error().message()});
    return ok();
  }
  if (*damaged > 0)
    set_.problems_.push_back({directory / kOperatorLogName, std::to_string(*damaged) + " damaged lines"});
  join_log(set_.runs_, rank, log);
  return ok();
}

// A recording of which a part is not read is not compared: two ranks of a run, say, that gave one device.
void DumpSetReader::check_unread(std::uint32_t rank, const RecordingStatus& status) {
  const auto is_its = [&](const fs::path& network) {
    return network.parent_path().parent_path().filename() == status.time_directory;
  };
  const auto unread = std::ranges::find_if(walk_.older(), is_its);
  if (status.time_directory.empty() || unread == walk_.older().end()) return;
  set_.problems_.push_back({*unread, "is of the recording of rank " + std::to_string(rank) +
                                         ", and is not read: another one of this device is later"});
}

// Ranks that were recorded one after the other are not those of one run: a later run had fewer of them, say.
// Those of one run that were started each by itself have ids of their own, and a time in common.
void DumpSetReader::check_run_ids() {
  if (set_.statuses_.empty()) return;
  const auto& [first_rank, first] = *set_.statuses_.begin();
  const auto is_before = [](const RecordingStatus& a, const RecordingStatus& b) {
    return a.ended_us != 0 && a.ended_us < b.started_us;
  };
  for (const auto& [rank, status] : set_.statuses_)
    if (status.run_id != first.run_id && (is_before(first, status) || is_before(status, first)))
      set_.problems_.push_back({set_.rank_directories_[rank],
                                "was recorded at another time than rank " + std::to_string(first_rank) +
                                    ", by another run; expected the ranks of one run"});
}

// Operators of several models in one recording of CANN differ by the model's name.
void DumpSetReader::name_models() {
  const std::set<std::uint32_t> ranks = networks_.find_model_ranks(set_.path_, set_.problems_);
  for (std::uint32_t i = 0; i < origins_.size(); ++i)
    if (ranks.contains(origins_[i].rank)) set_.runs_.show_model(i);
}

void DumpSetReader::log_older(const LogSink& log) const {
  if (walk_.older().empty() || !log) return;
  const fs::path recording = walk_.older().begin()->parent_path().parent_path();
  log(LogLevel::warning, set_.path_.string() + ": only the last of several recordings is read; pass " +
                             recording.string() + " to read that one");
}

Result<DumpSet> DumpSet::open(const fs::path& path, const LogSink& log) {
  return DumpSetReader::read(path, log);
}

}  // namespace opdump::dump
