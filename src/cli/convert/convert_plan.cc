#include "cli/convert/convert_plan.h"

#include <sys/stat.h>
#include <algorithm>

#include <cerrno>
#include <utility>

#include "base/text/packing.h"
#include "group/shared_work.h"

namespace opdump::cli {
namespace {

namespace fs = std::filesystem;

// Makes `directory` below `root`. What is a link already leads elsewhere, and is refused.
Result<> make_inside(const fs::path& root, const fs::path& directory) {
  OPDUMP_CHECK_OK(make_directories(root, 0700));
  fs::path path = root;
  for (const fs::path& part : directory) {
    path /= part;
    struct stat info {};
    if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return io_error(path, "create directory");
    if (::lstat(path.c_str(), &info) != 0) return io_error(path, "stat");
    if (!S_ISDIR(info.st_mode)) return Error(Code::io, path.string() + ": not a directory");
  }
  return ok();
}

// Looks at the tensors that are wanted, one after the other.
class Survey {
 public:
  Survey(const dump::Runs& runs, const ConvertTarget& target) : runs_(runs), target_(target) {}

  // Errors: io -- the directory of the tensor's step cannot be made.
  Result<> add(std::uint32_t run) {
    const std::string name = runs_.without_slots(run).name;
    for (const dump::Slot& slot : runs_.slots(run)) {
      if (!is_wanted(slot, target_.slot)) continue;
      OPDUMP_CHECK_OK(enter(runs_.section_of(run)));
      ++count_;
      bytes_ += slot.stored_bytes();
      note_slot(name, slot);
    }
    return ok();
  }

  void add(const dump::Problem& problem) { group::note_seen(seen_, problem.what); }
  std::uint64_t count() const { return count_; }
  std::uint64_t bytes() const { return bytes_; }
  std::string digest() const { return group::digest_of(seen_); }

 private:
  Result<> enter(const dump::Runs::Section& section) {
    if (section_ != nullptr && have_same_place(*section_, section)) return ok();
    section_ = &section;
    const fs::path place = place_of(section);
    group::note_seen(seen_, place.string());
    if (target_.is_golden()) return make_inside(target_.output, {});
    return make_inside(target_.output, target_.is_file_each() ? place : place.parent_path());
  }

  void note_slot(const std::string& name, const dump::Slot& slot) {
    piece_.clear();
    Packer out(piece_);
    out.text(name);
    out.number(static_cast<std::uint64_t>(slot.side));
    out.number(slot.index);
    out.number(slot.stored_bytes());
    group::note_seen(seen_, piece_);
  }

  const dump::Runs& runs_;
  const ConvertTarget& target_;
  const dump::Runs::Section* section_ = nullptr;  // of the last one
  std::uint64_t count_ = 0, bytes_ = 0;
  std::string seen_, piece_;
};

// Golden data is of one step: msaccucmp looks for one file of each operator.
Result<> check_one_step(const dump::Runs& runs, const Chosen& chosen) {
  for (const std::uint32_t run : chosen) {
    const dump::Runs::Section &first = runs.section_of(chosen.front()), &section = runs.section_of(run);
    if (section.step != first.step || section.rank != first.rank)
      return Error(Code::usage, "golden data is of one step of one rank; select them with --step and --rank");
  }
  return ok();
}

}  // namespace

Result<ConvertPlan> make_convert_plan(const ConvertArguments& arguments, const ConvertTarget& target,
                                      const LogSink& log) {
  OPDUMP_TRY(dump::DumpSet dump, dump::DumpSet::open(arguments.path, log));
  OPDUMP_TRY(Chosen chosen, select_runs(dump, arguments.filter));
  std::ranges::sort(chosen);  // --sort decides which ones --limit leaves; files are written step by step
  if (target.is_golden()) OPDUMP_CHECK_OK(check_one_step(dump.runs(), chosen));
  Survey survey(dump.runs(), target);
  for (const std::uint32_t run : chosen) OPDUMP_CHECK_OK(survey.add(run));
  if (survey.count() == 0)
    return Error(Code::not_found,
                 arguments.path + ": no tensor to convert: statistics only, or another --slot");
  for (const dump::Problem& problem : dump.problems()) survey.add(problem);
  return ConvertPlan{std::move(dump), std::move(chosen), survey.count(), survey.bytes(), survey.digest()};
}

}  // namespace opdump::cli
