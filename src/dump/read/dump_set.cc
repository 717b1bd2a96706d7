#include "dump/read/dump_set.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <system_error>
#include <tuple>
#include <utility>

#include "base/record_sorter.h"
#include "base/text.h"
#include "dump/file_name.h"
#include "dump/read/log_index.h"
#include "dump/read/step_reader.h"
#include "dump/read/tree_location.h"
#include "dump/tensor_names.h"
#include "format/tables/mapping_csv.h"

namespace opdump::dump {
namespace fs = std::filesystem;

namespace {

constexpr std::uint32_t kNoSection = UINT32_MAX;
constexpr std::size_t kMaxWalkDepth = 32;  // of directories below what was opened
constexpr std::size_t kSlotsAtOnce =
    1 << 15;  // read before they are packed; their headers are checked together

// The names of the directories in `directory`, as far as it can be listed. Links are none.
std::set<std::string> directories_in(const fs::path& directory) {
  std::set<std::string> names;
  std::error_code failed;
  for (fs::directory_iterator at(directory, failed); !failed && at != fs::directory_iterator();
       at.increment(failed)) {
    std::error_code unknown;
    if (!at->is_symlink(unknown) && at->is_directory(unknown)) names.insert(at->path().filename().string());
  }
  return names;
}

// True if `rank` is a device so far.
bool is_by_device(const Location& location) {
  return !location.has_rank &&
         (location.scheme == Scheme::model_tree || location.scheme == Scheme::time_tree);
}

// The directories in a directory.
struct Subdirectories {
  RecordSorter names;
  std::set<std::string> times;  // those that are

  void add(const std::string& name) {
    names.add(name);
    if (is_time(name)) times.insert(name);
  }
};

// Where executions were found.
struct SectionOrigin {
  std::uint32_t rank = 0;  // as the path has it
  bool is_by_device = false, is_constants = false;
};

// What was recorded into one place at once: of scheme (B) that is a step, of the others all of a rank. There
// should be one network.
class Recording {
 public:
  Recording() = default;
  Recording(Scheme scheme, std::uint32_t rank)
      : rank_(rank), of_models_(scheme == Scheme::model_tree || scheme == Scheme::time_tree) {}

  // Each once.
  void add(std::string_view network) {
    const fs::path parent = fs::path(network).parent_path();
    if (count_ == 0) parent_ = parent;
    of_models_ = of_models_ && parent == parent_;
    if (++count_ <= kTold) names_ += (count_ > 1 ? ", " : "") + std::string(network);
  }
  std::uint64_t count() const { return count_; }
  bool are_models() const { return of_models_ && count_ > 1; }
  std::string names() const {
    return count_ <= kTold ? names_ : names_ + " and " + std::to_string(count_ - kTold) + " more";
  }
  std::uint32_t rank() const { return rank_; }

 private:
  static constexpr std::uint64_t kTold = 20;
  std::uint32_t rank_ = 0;
  bool of_models_ = false;
  std::uint64_t count_ = 0;
  std::string names_;
  fs::path parent_;
};

}  // namespace

// Builds a DumpSet: walks the directories, reads each step, then brings in what the rank's own files know.
class DumpSetReader {
 public:
  explicit DumpSetReader(fs::path path) { set_.path_ = std::move(path); }
  Result<DumpSet> read();
  void tell_older(const fs::path& opened, const LogSink& tell) const;

 private:
  Result<> find_ancestors();
  Result<> read_all();
  std::string prefix_of(const Location& location) const;
  void find_ranks_beside();
  Result<> read_files_in(const fs::path& directory, Subdirectories& inside);
  Result<> walk(const fs::path& directory, std::size_t depth);
  void leave_out_older(const fs::path& directory, const std::set<std::string>& times);
  void note_entry(const fs::directory_entry& entry, StepFiles& files, Subdirectories& inside);
  void read_file_alone();
  void read_step_directory(StepFiles files);
  Result<std::uint32_t> add_section(const Location& location, std::int64_t step, const std::string& directory,
                                    const std::string& network);
  void note_overflow(const Location& location, const Overflow& overflow);
  void note_status(std::uint32_t rank, RecordingStatus status);
  void pack_pending();
  std::string note_network(const Location& location);
  Result<> place_devices();
  Result<> place_constants();
  Result<> read_rank(std::uint32_t rank, const fs::path& directory);
  void note_unread(std::uint32_t rank, const RecordingStatus& status);
  void note_runs();
  Result<> join_log(std::uint32_t rank, LogIndex& log);
  Result<> tell_networks();
  void report(const Recording& recording);

  DumpSet set_;
  std::vector<std::string> trail_;               // names of the directories that lead to the one being read
  std::size_t first_inside_ = 0;                 // of these, the first below what the user opened
  bool is_file_ = false;                         // what the user opened is no directory
  std::vector<OperatorRun> pending_;             // read, and not yet packed
  std::vector<std::uint32_t> pending_sections_;  // of each
  std::size_t pending_slots_ = 0;
  Result<> packed_ = ok();                // why runs could not be kept
  ScratchVector<SectionOrigin> origins_;  // of each section
  bool has_constants_ = false;
  RecordSorter overflows_, device_overflows_;  // by rank, or device; graph, step, file; packed
  std::set<std::uint32_t> devices_;            // that are taken for ranks so far
  std::set<fs::path> older_;        // directories of networks of which a later recording has the same
  std::optional<fs::path> beside_;  // the root of a tree whose ranks do not lead to its steps
  RecordSorter networks_;  // scheme, rank and step of a Recording; a network's path below what was opened
  std::set<std::uint32_t> told_ranks_;
};

Result<DumpSet> DumpSetReader::read() {
  OPDUMP_CHECK_OK(find_ancestors());
  OPDUMP_CHECK_OK(read_all());
  OPDUMP_CHECK_OK(std::move(packed_));
  find_ranks_beside();
  OPDUMP_CHECK_OK(place_devices());
  OPDUMP_CHECK_OK(place_constants());
  for (const auto& [rank, directory] : set_.rank_directories_) OPDUMP_CHECK_OK(read_rank(rank, directory));
  note_runs();
  OPDUMP_CHECK_OK(tell_networks());
  OPDUMP_CHECK_OK(set_.runs_.sort());
  OPDUMP_CHECK_OK(overflows_.visit([&](std::string_view overflow) {
    set_.overflows_.add(overflow);
    return ok();
  }));
  return std::move(set_);
}

Result<> DumpSetReader::read_all() {
  if (is_file_)
    read_file_alone();
  else
    OPDUMP_CHECK_OK(walk(set_.path_, 0));
  pack_pending();
  if (!set_.runs_.empty() || !packed_ || overflows_.size() + device_overflows_.size() > 0 ||
      !set_.rank_directories_.empty())
    return ok();
  std::string text = set_.path_.string() + ": no dump";
  const std::vector<Problem>& problems = set_.problems();
  if (is_file_ && !problems.empty()) return Error(Code::not_found, text + ": " + problems[0].what);
  text +=
      ": expected rank_N/net/graph/step or another tree of MindSpore's or CANN's, .npy, .npz, .safetensors "
      "or .h5 files, "
      "or "
      "statistic.csv";
  if (!problems.empty()) text += "; " + problems[0].path.string() + ": " + problems[0].what;
  return Error(Code::not_found, std::move(text));
}

// A directory inside a tree is told by the names above it, and belongs to the rank above it.
Result<> DumpSetReader::find_ancestors() {
  std::error_code failed;
  const fs::path whole = fs::canonical(set_.path_, failed);
  if (failed) {
    const bool missing =
        failed == std::errc::no_such_file_or_directory || failed == std::errc::not_a_directory;
    return Error(missing ? Code::not_found : Code::io, set_.path_.string() + ": " + failed.message());
  }
  is_file_ = fs::is_regular_file(whole, failed);
  if (!is_file_ && !fs::is_directory(whole, failed))
    return Error(Code::not_found, set_.path_.string() + ": neither a directory nor a file; expected a dump");
  for (const fs::path& part : is_file_ ? whole.parent_path().relative_path() : whole.relative_path())
    trail_.push_back(part.string());
  first_inside_ = trail_.size();
  fs::path ancestor = whole;
  for (std::size_t up = 0; up < kMaxTreeDepth && ancestor.has_relative_path();
       ++up, ancestor = ancestor.parent_path()) {
    if (const auto rank = find_rank(ancestor.filename().string())) {
      set_.rank_directories_[*rank] = ancestor;
      break;
    }
  }
  return ok();
}

// Where ranks do not lead to the steps, their directories lie beside those that do: above what was opened, if
// that is a part of the dump only.
void DumpSetReader::find_ranks_beside() {
  if (!set_.rank_directories_.empty() || !beside_) return;
  std::error_code failed;
  fs::directory_iterator entries(*beside_, failed);
  for (; !failed && entries != fs::directory_iterator(); entries.increment(failed)) {
    const auto rank = find_rank(entries->path().filename().string());
    std::error_code unknown;
    if (rank && !entries->is_symlink(unknown) && entries->is_directory(unknown))
      set_.rank_directories_[*rank] = entries->path();
  }
}

// A tree that knows devices only: of a single rank, the single device is its own; otherwise they bear the
// same number.
Result<> DumpSetReader::place_devices() {
  std::optional<std::uint32_t> rank;
  if (devices_.size() == 1 && set_.rank_directories_.size() == 1)
    rank = set_.rank_directories_.begin()->first;
  for (std::uint32_t i = 0; rank && i < set_.runs_.section_count(); ++i)
    if (origins_[i].is_by_device) set_.runs_.section(i).rank = *rank;
  return device_overflows_.visit([&](std::string_view overflow) {
    SortKeyReader in(overflow);
    const std::uint64_t device = in.number();
    std::string record;
    SortKey(record).number(rank.value_or(device));
    overflows_.add(record.append(in.rest()));
    return ok();
  });
}

// Reads the files right in `directory`, if it is a step's. Errors: io -- it cannot be listed.
Result<> DumpSetReader::read_files_in(const fs::path& directory, Subdirectories& inside) {
  std::error_code failed;
  StepFiles files;
  files.directory = directory;
  fs::directory_iterator entries(directory, failed);
  for (; !failed && entries != fs::directory_iterator(); entries.increment(failed))
    note_entry(*entries, files, inside);
  if (files.names.have_dump_file()) read_step_directory(std::move(files));
  if (failed) return Error(Code::io, directory.string() + ": " + failed.message());
  return ok();
}

// Reads the step directories below. Errors: io -- `directory` cannot be listed.
Result<> DumpSetReader::walk(const fs::path& directory, std::size_t depth) {
  Subdirectories inside;
  auto listed = read_files_in(directory, inside);
  leave_out_older(directory, inside.times);
  OPDUMP_CHECK_OK(inside.names.visit([&](std::string_view name) {
    const fs::path path = directory / name;
    if (older_.contains(path)) return ok();
    if (const auto rank = find_rank(name)) set_.rank_directories_.try_emplace(*rank, path);
    if (depth == kMaxWalkDepth) {
      set_.problems_.push_back({path, "deeper than any dump; not looked into"});
      return ok();
    }
    trail_.emplace_back(name);
    if (auto done = walk(path, depth + 1); !done) set_.problems_.push_back({path, done.error().message()});
    trail_.pop_back();
    return ok();
  }));
  return listed;
}

// Of what lies in several {time}/{device}/{net} the last one is read.
void DumpSetReader::leave_out_older(const fs::path& directory, const std::set<std::string>& times) {
  if (times.size() < 2) return;
  std::map<fs::path, fs::path> last;  // by {device}/{net}
  for (const std::string& time : times) {
    for (const std::string& device : directories_in(directory / time))
      for (const std::string& net : directories_in(directory / time / device)) {
        const fs::path path = directory / time / device / net;
        const auto [known, is_new] = last.try_emplace(fs::path(device) / net, path);
        if (!is_new) older_.insert(std::exchange(known->second, path));
      }
  }
}

void DumpSetReader::tell_older(const fs::path& opened, const LogSink& tell) const {
  if (older_.empty() || !tell) return;
  const fs::path recording = older_.begin()->parent_path().parent_path();
  tell(LogLevel::warning, opened.string() + ": of several recordings the last one is read; " +
                              recording.string() + " is one that is not, unless it is named");
}

void DumpSetReader::note_entry(const fs::directory_entry& entry, StepFiles& files, Subdirectories& inside) {
  std::error_code failed;
  std::string name = entry.path().filename().string();
  // In this order nothing is looked up: the directory itself told the types.
  if (entry.is_symlink(failed))
    set_.problems_.push_back({entry.path(), "symbolic link; links inside a dump are not followed"});
  else if (entry.is_directory(failed))
    inside.add(name);
  else if (entry.is_regular_file(failed))
    files.names.add(name);
}

// A file that the user has named, be it a link.
void DumpSetReader::read_file_alone() {
  StepFiles files;
  files.directory = set_.path_.parent_path();
  files.names.add(set_.path_.filename().string());
  files.is_alone = true;
  std::error_code failed;
  if (fs::is_regular_file(files.directory / format::kMappingCsvName, failed))
    files.mapping = files.directory / format::kMappingCsvName;
  read_step_directory(std::move(files));
}

// The path below what was opened, without the numbers that are taken for graph and step.
std::string DumpSetReader::prefix_of(const Location& location) const {
  std::size_t last = trail_.size();
  if (last > first_inside_ && parse_int64(trail_[last - 1]) == location.step) --last;
  if (last + 1 == trail_.size() && last > first_inside_ && parse_int64(trail_[last - 1]) == location.graph_id)
    --last;
  std::string prefix;
  for (std::size_t i = first_inside_; i < last; ++i) prefix += trail_[i] + "/";
  return prefix;
}

void DumpSetReader::read_step_directory(StepFiles files) {
  const Location location = locate(trail_, first_inside_);
  if (!location.is_tree || files.is_alone) files.prefix = prefix_of(location);
  const std::string directory = files.directory.string();
  std::optional<std::string> network;
  const auto find_network = [&] {
    if (!network) network = note_network(location);
  };
  std::optional<std::int64_t> step;  // of the execution that came last
  std::uint32_t section = 0;         // the same one's
  const auto take = [&](OperatorRun run) {
    find_network();
    if (step != run.step) {
      step = run.step;
      auto added = add_section(location, run.step, directory, *network);
      if (!added) packed_ = added.take_error();
      if (!packed_) return;
      section = *added;
    }
    pending_slots_ += run.slots.size();
    pending_sections_.push_back(section);
    pending_.push_back(std::move(run));
    if (pending_slots_ >= kSlotsAtOnce) pack_pending();
  };
  const auto take_overflow = [&](const Overflow& overflow) {
    find_network();
    note_overflow(location, overflow);
  };
  read_step(std::move(files), set_.problems_, take, take_overflow,
            [&](RecordingStatus status) { note_status(location.rank, std::move(status)); });
}

// Of one file of a rank; of several, what any of them lost is lost.
void DumpSetReader::note_status(std::uint32_t rank, RecordingStatus status) {
  const auto [known, is_new] = set_.statuses_.try_emplace(rank, status);
  if (is_new) return;
  RecordingStatus& all = known->second;
  std::ranges::move(status.losses, std::back_inserter(all.losses));
  if (all.state == "complete") all.state = status.state;
}

// Of a step of `location`, counted from its own. Errors: io.
Result<std::uint32_t> DumpSetReader::add_section(const Location& location, std::int64_t step,
                                                 const std::string& directory, const std::string& network) {
  has_constants_ = has_constants_ || location.constants;
  if (is_by_device(location)) devices_.insert(location.rank);
  OPDUMP_CHECK_OK(origins_.push_back({location.rank, is_by_device(location), location.constants}));
  return set_.runs_.add_section({location.rank, location.graph_id, location.step + step}, directory, network);
}

void DumpSetReader::note_overflow(const Location& location, const Overflow& overflow) {
  std::string record;
  SortKey(record).number(location.rank).signed_number(location.graph_id).signed_number(location.step);
  SortKey(record).text(overflow.file.native()).number(overflow.task).signed_number(overflow.stream);
  SortKey(record).number(overflow.status);
  (is_by_device(location) ? device_overflows_ : overflows_).add(record);
  if (is_by_device(location)) devices_.insert(location.rank);
}

void DumpSetReader::pack_pending() {
  check_tensor_files(pending_, set_.problems_);
  for (std::size_t i = 0; i < pending_.size() && packed_; ++i)
    packed_ = set_.runs_.add(pending_sections_[i], pending_[i]);
  pending_.clear();
  pending_sections_.clear();
  pending_slots_ = 0;
}

// Returns the name of the network; nothing if the directory is of none.
std::string DumpSetReader::note_network(const Location& location) {
  const auto joined = [&](std::size_t first, std::size_t last) {
    fs::path path;
    for (std::size_t i = first; i < last; ++i) path /= trail_[i];
    return path;
  };
  if (is_by_device(location) && !beside_) beside_ = "/" / joined(0, location.root_length);
  // Of any folder only {net}/{graph}/{step} is taken for a recording.
  const auto is_number = [&](std::size_t up) { return parse_int64(trail_[trail_.size() - up]).has_value(); };
  if (location.net_length == 0 || (!location.is_tree && !(is_number(1) && is_number(2)))) return {};
  // What is recorded into one place at once is a step of scheme (B), of the others all of a rank.
  const std::int64_t step = location.scheme == Scheme::model_tree ? location.step : -1;
  const fs::path network = joined(std::min(first_inside_, location.net_length - 1), location.net_length);
  std::string record;
  SortKey(record).number(static_cast<std::uint64_t>(location.scheme)).number(location.rank);
  SortKey(record).signed_number(step);
  networks_.add(record.append(network.native()));
  return network.filename();
}

// Constants are written once for a graph: they belong to the first of its steps.
Result<> DumpSetReader::place_constants() {
  if (!has_constants_) return ok();
  RecordSorter by_graph;  // constants last
  std::string record;
  for (std::uint32_t i = 0; i < set_.runs_.section_count(); ++i) {
    const Runs::Section& section = set_.runs_.section(i);
    record.clear();
    SortKey(record).number(section.rank).signed_number(section.graph_id).number(origins_[i].is_constants);
    SortKey(record).signed_number(section.step).number(i);
    by_graph.add(record);
  }
  std::string graph;
  std::int64_t first_step = 0;
  return by_graph.visit([&](std::string_view section) {
    SortKeyReader in(section);
    in.number();
    in.signed_number();
    const std::string_view of_graph = section.substr(0, section.size() - in.rest().size());
    const bool is_constants = in.number() == 1;
    const std::int64_t step = in.signed_number();
    if (of_graph != graph) {
      graph = of_graph;
      first_step = is_constants ? 0 : step;
    }
    if (is_constants) set_.runs_.section(static_cast<std::uint32_t>(in.number())).step = first_step;
    return ok();
  });
}

// A recording of which a part is not read is not compared: two ranks of a run, say, that gave one device.
void DumpSetReader::note_unread(std::uint32_t rank, const RecordingStatus& status) {
  const auto is_its = [&](const fs::path& network) {
    return network.parent_path().parent_path().filename() == status.time_directory;
  };
  const auto unread = std::ranges::find_if(older_, is_its);
  if (status.time_directory.empty() || unread == older_.end()) return;
  set_.problems_.push_back({*unread, "is of the recording of rank " + std::to_string(rank) +
                                         ", and is not read: another one of this device is later"});
}

// Ranks that were recorded one after the other are not those of one run: a later run had fewer of them, say.
// Those of one run that were started each by itself have ids of their own, and a time in common.
void DumpSetReader::note_runs() {
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

Result<> DumpSetReader::read_rank(std::uint32_t rank, const fs::path& directory) {
  if (auto status = read_status(directory)) {
    note_unread(rank, *status);
    set_.statuses_[rank] = std::move(*status);
  } else if (status.error().code() != Code::not_found) {
    set_.problems_.push_back({directory / kStatusFileName, status.error().message()});
  }

  LogIndex log(set_.runs_);
  const auto damaged = log.read(directory);
  if (!damaged) {
    if (damaged.error().code() != Code::not_found)
      set_.problems_.push_back({directory / kOperatorLogName, damaged.error().message()});
    return ok();
  }
  if (*damaged > 0)
    set_.problems_.push_back({directory / kOperatorLogName, std::to_string(*damaged) + " damaged lines"});
  return join_log(rank, log);
}

// Tells runs which operator they are, and adds those of which nothing was dumped.
Result<> DumpSetReader::join_log(std::uint32_t rank, LogIndex& log) {
  for (std::size_t i = 0; i < set_.runs_.size(); ++i) {
    if (set_.runs_.section_of(i).rank != rank) continue;
    OPDUMP_TRY(const std::uint32_t op, log.find(set_.runs_.without_slots(i)));
    set_.runs_.set_operator(i, op);
  }
  constexpr std::uint64_t kSection = 0, kOperator = 1;
  RecordSorter by_step;  // sections of {graph or any, step}, then operators that are absent from it
  const auto add = [&](std::int64_t graph_id, std::int64_t step, std::uint64_t kind, std::uint32_t number) {
    std::string record;
    SortKey(record).signed_number(graph_id).signed_number(step).number(kind).number(number);
    by_step.add(record);
  };
  for (std::uint32_t i = 0; i < set_.runs_.section_count(); ++i) {
    const Runs::Section& section = set_.runs_.section(i);
    if (section.rank != rank) continue;
    for (const std::int64_t graph_id : {section.graph_id, model::kAnyGraph})
      add(graph_id, section.step, kSection, i);
  }
  OPDUMP_CHECK_OK(log.visit_absent([&](std::uint32_t number, std::int64_t step) {
    add(set_.runs_.operator_of(number).graph_id, step, kOperator, number);
    return ok();
  }));
  std::tuple<std::int64_t, std::int64_t> last;
  std::optional<Runs::Section> recorded;  // there
  std::uint32_t added = kNoSection;       // for what is absent from it
  return by_step.visit([&](std::string_view record) -> Result<> {
    SortKeyReader in(record);
    const std::int64_t graph_id = in.signed_number(), step = in.signed_number();
    const bool is_section = in.number() == kSection;
    const auto number = static_cast<std::uint32_t>(in.number());
    if (const std::tuple place(graph_id, step); place != last) {
      last = place;
      recorded.reset();
      added = kNoSection;
    }
    if (is_section && !recorded) recorded = set_.runs_.section(number);
    if (is_section || !recorded) return ok();
    if (added == kNoSection) {
      OPDUMP_TRY(added, set_.runs_.add_section(*recorded));
    }
    const model::Operator op = set_.runs_.operator_of(number);
    OperatorRun run;
    run.type = file_type(op);
    run.name = file_op_name(op);
    OPDUMP_CHECK_OK(set_.runs_.add(added, run));
    set_.runs_.set_operator(set_.runs_.size() - 1, number);
    return ok();
  });
}

// Of several models in one recording of CANN, operators are told apart by the model's name.
Result<> DumpSetReader::tell_networks() {
  std::set<std::uint32_t> ranks_of_models;
  Recording recording;
  const auto finish = [&] {
    if (recording.are_models())
      ranks_of_models.insert(recording.rank());
    else
      report(recording);
  };
  std::string place;
  OPDUMP_CHECK_OK(networks_.visit_different([&](std::string_view record) {
    SortKeyReader in(record);
    const auto scheme = static_cast<Scheme>(in.number());
    const auto rank = static_cast<std::uint32_t>(in.number());
    in.signed_number();
    const std::string_view of_record = record.substr(0, record.size() - in.rest().size());
    if (of_record != place) {
      finish();
      recording = Recording(scheme, rank);
      place = of_record;
    }
    recording.add(in.rest());
    return ok();
  }));
  finish();
  for (std::uint32_t i = 0; i < origins_.size(); ++i)
    if (ranks_of_models.contains(origins_[i].rank)) set_.runs_.tell_model(i);
  return ok();
}

void DumpSetReader::report(const Recording& recording) {
  if (recording.count() < 2 || !told_ranks_.insert(recording.rank()).second) return;
  set_.problems_.push_back(
      {set_.path_, "several recordings of rank " + std::to_string(recording.rank()) +
                       ", read as one; expected one of these directories: " + recording.names()});
}

Result<> DumpSet::visit_overflows(const std::function<Result<>(const Overflow&)>& take) const {
  return overflows_.visit([&](std::string_view record) {
    SortKeyReader in(record);
    Overflow overflow;
    overflow.rank = static_cast<std::uint32_t>(in.number());
    overflow.graph_id = in.signed_number();
    overflow.step = in.signed_number();
    overflow.file = in.text();
    overflow.task = in.number();
    overflow.stream = in.signed_number();
    overflow.status = in.number();
    return take(overflow);
  });
}

Result<DumpSet> DumpSet::open(const fs::path& path, const LogSink& tell) {
  DumpSetReader reader(path);
  auto dump = reader.read();
  if (dump) reader.tell_older(path, tell);
  return dump;
}

}  // namespace opdump::dump
