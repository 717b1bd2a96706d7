#include "dump/dump_set.h"

#include <algorithm>
#include <set>
#include <system_error>
#include <tuple>
#include <utility>

#include "base/record_sorter.h"
#include "base/text.h"
#include "dump/file_name.h"
#include "dump/log_index.h"
#include "dump/step_reader.h"
#include "dump/tensor_names.h"
#include "dump/tree_location.h"
#include "format/mapping_csv.h"

namespace opdump::dump {
namespace fs = std::filesystem;

namespace {

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
  void note_section(std::uint32_t section, const Location& location, const std::string& net);
  void pack_pending();
  fs::path note_net(const Location& location);
  void place_devices();
  void place_constants();
  Result<> read_rank(std::uint32_t rank, const fs::path& directory);
  Result<> join_log(std::uint32_t rank, LogIndex& log);
  void tell_models_apart();
  void report_several_nets();

  DumpSet set_;
  // What was recorded into one place at once: of layout (B) that is a step, of the others all of a rank.
  using Recording = std::tuple<Scheme, std::uint32_t, std::int64_t>;

  std::vector<std::string> trail_;               // names of the directories that lead to the one being read
  std::size_t first_inside_ = 0;                 // of these, the first below what the user opened
  bool is_file_ = false;                         // what the user opened is no directory
  std::vector<OperatorRun> pending_;             // read, and not yet packed
  std::vector<std::uint32_t> pending_sections_;  // of each
  std::size_t pending_slots_ = 0;
  Result<> packed_ = ok();                // why runs could not be kept
  std::vector<std::uint32_t> constants_;  // sections of constants
  // Whose rank is a device so far.
  std::vector<std::uint32_t> device_sections_;
  std::vector<std::size_t> device_overflows_;
  std::set<fs::path> older_;        // directories of networks of which a later recording has the same
  std::optional<fs::path> beside_;  // the root of a tree whose ranks do not lead to its steps
  std::map<Recording, std::set<std::string>> nets_;                            // paths below what was opened
  std::vector<std::tuple<std::uint32_t, std::uint32_t, std::string>> models_;  // section, rank, network
};

Result<DumpSet> DumpSetReader::read() {
  OPDUMP_CHECK_OK(find_ancestors());
  OPDUMP_CHECK_OK(read_all());
  find_ranks_beside();
  place_devices();
  place_constants();
  for (const auto& [rank, directory] : set_.rank_directories_) OPDUMP_CHECK_OK(read_rank(rank, directory));
  OPDUMP_CHECK_OK(std::move(packed_));
  tell_models_apart();
  report_several_nets();
  OPDUMP_CHECK_OK(set_.runs_.sort());
  std::ranges::sort(set_.overflows_, {}, [](const Overflow& overflow) {
    return std::tuple(overflow.rank, overflow.graph_id, overflow.step, overflow.file);
  });
  return std::move(set_);
}

Result<> DumpSetReader::read_all() {
  if (is_file_)
    read_file_alone();
  else
    OPDUMP_CHECK_OK(walk(set_.path_, 0));
  pack_pending();
  if (!set_.runs_.empty() || !packed_ || !set_.overflows_.empty() || !set_.rank_directories_.empty())
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
void DumpSetReader::place_devices() {
  std::set<std::uint32_t> devices;
  for (const std::uint32_t i : device_sections_) devices.insert(set_.runs_.sections()[i].rank);
  for (const std::size_t i : device_overflows_) devices.insert(set_.overflows_[i].rank);
  if (devices.size() != 1 || set_.rank_directories_.size() != 1) return;
  const std::uint32_t rank = set_.rank_directories_.begin()->first;
  for (const std::uint32_t i : device_sections_) set_.runs_.section(i).rank = rank;
  for (const std::size_t i : device_overflows_) set_.overflows_[i].rank = rank;
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
  RecordSorter::Reader reader = inside.names.sorted();
  for (;;) {
    OPDUMP_TRY(const bool has_more, reader.next());
    if (!has_more) return listed;
    const std::string name(reader.record());
    const fs::path path = directory / name;
    if (older_.contains(path)) continue;
    if (const auto rank = find_rank(name)) set_.rank_directories_.try_emplace(*rank, path);
    if (depth == kMaxWalkDepth) {
      set_.problems_.push_back({path, "deeper than any dump; not looked into"});
      continue;
    }
    trail_.push_back(name);
    if (auto done = walk(path, depth + 1); !done) set_.problems_.push_back({path, done.error().message()});
    trail_.pop_back();
  }
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
  std::string net;
  std::map<std::int64_t, std::uint32_t> sections;  // by step
  const auto take = [&](OperatorRun run) {
    if (sections.empty()) net = note_net(location).filename().string();
    const auto [section, is_new] = sections.try_emplace(run.step);
    if (is_new) {
      section->second =
          set_.runs_.add_section({location.rank, location.graph_id, location.step + run.step, {}, directory});
      note_section(section->second, location, net);
    }
    pending_slots_ += run.slots.size();
    pending_sections_.push_back(section->second);
    pending_.push_back(std::move(run));
    if (pending_slots_ >= kSlotsAtOnce) pack_pending();
  };
  std::vector<Overflow> overflows = read_step(std::move(files), set_.problems_, take);
  if (sections.empty() && !overflows.empty()) note_net(location);
  for (Overflow& overflow : overflows) {
    overflow.rank = location.rank;
    overflow.graph_id = location.graph_id;
    overflow.step = location.step;
    if (is_by_device(location)) device_overflows_.push_back(set_.overflows_.size());
    set_.overflows_.push_back(std::move(overflow));
  }
}

void DumpSetReader::note_section(std::uint32_t section, const Location& location, const std::string& net) {
  if (!net.empty()) models_.emplace_back(section, location.rank, net);
  if (location.constants) constants_.push_back(section);
  if (is_by_device(location)) device_sections_.push_back(section);
}

void DumpSetReader::pack_pending() {
  check_tensor_files(pending_, set_.problems_);
  for (std::size_t i = 0; i < pending_.size() && packed_; ++i)
    packed_ = set_.runs_.add(pending_sections_[i], pending_[i]);
  pending_.clear();
  pending_sections_.clear();
  pending_slots_ = 0;
}

// Returns the path of the network as nets_ has it; nothing if the directory is of none.
fs::path DumpSetReader::note_net(const Location& location) {
  const auto joined = [&](std::size_t first, std::size_t last) {
    fs::path path;
    for (std::size_t i = first; i < last; ++i) path /= trail_[i];
    return path;
  };
  if (is_by_device(location) && !beside_) beside_ = "/" / joined(0, location.root_length);
  // Of any folder only {net}/{graph}/{step} is taken for a recording.
  const auto is_number = [&](std::size_t up) { return parse_int64(trail_[trail_.size() - up]).has_value(); };
  if (location.net_length == 0 || (!location.is_tree && !(is_number(1) && is_number(2)))) return {};
  const std::int64_t step = location.scheme == Scheme::model_tree ? location.step : -1;
  fs::path net = joined(std::min(first_inside_, location.net_length - 1), location.net_length);
  nets_[{location.scheme, location.rank, step}].insert(net.string());
  return net;
}

// Constants are written once for a graph: they belong to the first of its steps.
void DumpSetReader::place_constants() {
  std::map<std::pair<std::uint32_t, std::int64_t>, std::int64_t> first_steps;
  const std::set<std::uint32_t> constants(constants_.begin(), constants_.end());
  for (std::uint32_t i = 0; i < set_.runs_.sections().size(); ++i) {
    const Runs::Section& section = set_.runs_.sections()[i];
    if (constants.contains(i)) continue;
    const auto [found, added] = first_steps.try_emplace({section.rank, section.graph_id}, section.step);
    if (!added) found->second = std::min(found->second, section.step);
  }
  for (const std::uint32_t i : constants_) {
    Runs::Section& section = set_.runs_.section(i);
    const auto found = first_steps.find({section.rank, section.graph_id});
    section.step = found == first_steps.end() ? 0 : found->second;
  }
}

Result<> DumpSetReader::read_rank(std::uint32_t rank, const fs::path& directory) {
  if (auto status = read_status(directory))
    set_.statuses_[rank] = std::move(*status);
  else if (status.error().code() != Code::not_found)
    set_.problems_.push_back({directory / kStatusFileName, status.error().message()});

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
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> graphs;  // of {graph or any, step}
  for (std::size_t i = 0; i < set_.runs_.size(); ++i) {
    const Runs::Section& section = set_.runs_.section_of(i);
    if (section.rank != rank) continue;
    for (const std::int64_t graph_id : {section.graph_id, model::kAnyGraph})
      graphs.emplace(std::pair(graph_id, section.step), section.graph_id);
    OPDUMP_TRY(const std::uint32_t op, log.find(set_.runs_.without_slots(i)));
    set_.runs_.set_operator(i, op);
  }
  std::map<std::pair<std::int64_t, std::int64_t>, std::uint32_t> sections;  // by graph and step
  return log.visit_absent([&](std::uint32_t number, std::int64_t step) -> Result<> {
    const model::Operator op = set_.runs_.operator_of(number);
    const auto graph = graphs.find({op.graph_id, step});
    if (graph == graphs.end()) return ok();
    const auto [section, is_new] = sections.try_emplace({graph->second, step});
    if (is_new) section->second = set_.runs_.add_section({rank, graph->second, step, {}, {}});
    OperatorRun run;
    run.type = file_type(op);
    run.name = file_op_name(op);
    OPDUMP_CHECK_OK(set_.runs_.add(section->second, run));
    set_.runs_.set_operator(set_.runs_.size() - 1, number);
    return ok();
  });
}

// Of several models in one recording of CANN, operators are told apart by the model's name.
void DumpSetReader::tell_models_apart() {
  std::set<std::uint32_t> ranks;
  std::erase_if(nets_, [&](const auto& entry) {
    const auto& [recording, nets] = entry;
    const auto [scheme, rank, step] = recording;
    const fs::path parent = fs::path(*nets.begin()).parent_path();
    const bool are_models =
        (scheme == Scheme::model_tree || scheme == Scheme::time_tree) && nets.size() > 1 &&
        std::ranges::all_of(nets, [&](const fs::path& net) { return net.parent_path() == parent; });
    if (are_models) ranks.insert(rank);
    return are_models;
  });
  for (const auto& [section, rank, model] : models_)
    if (ranks.contains(rank)) set_.runs_.section(section).model = model;
}

void DumpSetReader::report_several_nets() {
  std::set<std::uint32_t> told;
  for (const auto& [recording, nets] : nets_) {
    const std::uint32_t rank = std::get<1>(recording);
    if (nets.size() < 2 || !told.insert(rank).second) continue;
    std::string names;
    for (const std::string& net : nets) names += (names.empty() ? "" : ", ") + net;
    set_.problems_.push_back({set_.path_, "several recordings of rank " + std::to_string(rank) +
                                              ", read as one; expected one of these directories: " + names});
  }
}

Result<DumpSet> DumpSet::open(const fs::path& path, const LogSink& tell) {
  DumpSetReader reader(path);
  auto dump = reader.read();
  if (dump) reader.tell_older(path, tell);
  return dump;
}

}  // namespace opdump::dump
