#include "cli/convert/convert_item.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "arrays/file.h"
#include "arrays/text.h"
#include "base/file/file_replacement.h"
#include "base/text/concat.h"
#include "base/text/expansion.h"
#include "dump/file_name.h"
#include "format/tables/mapping_csv.h"
#include "format/tensors/npy.h"
#include "format/tensors/safetensors.h"
#include "format/tensors/zip_writer.h"

namespace opdump::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kAlignment = 64;  // of arrays in .npz
constexpr std::size_t kAtOnce = 4096;   // tensors, or executions of steps

class ItemConverter {
 public:
  ItemConverter(const dump::Runs& runs, const ConvertItem& item, const ConvertTarget& target,
                unsigned threads, const OnDone& on_done)
      : runs_(runs), item_(item), target_(target), threads_(threads), on_done_(on_done) {}

  ItemResult convert() {
    if (item_.name.empty())
      convert_step();
    else if (auto written = write_slot(); !written)
      note_failure(item_.name, written.error());
    else
      ++result_.converted;
    return std::move(result_);
  }

 private:
  void note_failure(std::string_view name, const Error& error) {
    result_.failures.push_back(concat({name, ": ", error.message()}));
  }

  Result<> write_slot() const {
    const std::string_view extension = target_.is_golden() ? "npy" : std::string_view(target_.to);
    const fs::path path = target_.output / item_.place / concat({item_.name, ".", extension});
    OPDUMP_TRY(arrays::Array array, open_slot(item_.slot, target_.format, threads_));
    OPDUMP_CHECK_OK(target_.to == "txt" ? check_expansion(item_.bytes, arrays::text_bytes(array), "text")
                                        : check_expansion(item_.bytes, array.byte_count(), "elements"));
    const double share = static_cast<double>(item_.bytes) / static_cast<double>(array.byte_count() + 1);
    array.on_written = [&](std::uint64_t bytes) {
      on_done_(static_cast<std::uint64_t>(static_cast<double>(bytes) * share));
    };
    if (extension == "npy") return arrays::write_npy(array, false, path);
    if (target_.to == "bin") return arrays::write_elements(array, path);
    if (target_.to == "txt") return arrays::write_text(array, path, threads_);
    return arrays::write_torch(array, path);
  }

  // Calls take(slot, name) -> Result<> with each tensor of the step. Errors: the first of `take`'s.
  template <typename Take>
  Result<> visit_slots(const Take& take) const {
    SlotNames names;
    for (const std::uint32_t i : item_.runs) {
      const std::string op = runs_.without_slots(i).name;
      for (const dump::Slot& slot : runs_.slots(i)) {
        if (!is_wanted(slot, target_.slot)) continue;
        OPDUMP_CHECK_OK(take(slot, names.next(op, slot)));
      }
    }
    return ok();
  }

  void convert_step() {
    const fs::path path = target_.output / concat({item_.place, ".", target_.to});
    const auto write = [&]() -> Result<> {
      OPDUMP_TRY(FileReplacement file, FileReplacement::begin(path, 0600));
      OPDUMP_CHECK_OK(target_.to == "npz" ? write_archive(file.fd(), path)
                                          : write_safetensors(file.fd(), path));
      return file.finish();
    };
    const auto written = write();
    if (!written) return note_lost(written.error());
    result_.converted = static_cast<std::uint64_t>(std::ranges::count(is_refused_, false));
  }

  // Of each tensor that would be in the file.
  void note_lost(const Error& why) {
    std::size_t next = 0;
    const auto visited = visit_slots([&](const dump::Slot&, const std::string& name) {
      const std::size_t i = next++;
      if (i >= is_refused_.size() || !is_refused_[i]) note_failure(name, why);
      return ok();
    });
    if (!visited) note_failure(item_.place, visited.error());
  }

  // Notes whether the next tensor of the step will be in the file; else why not.
  bool takes(const std::string& name, const Result<>& opened) {
    is_refused_.push_back(!opened);
    if (!opened) note_failure(name, opened.error());
    return !is_refused_.back();
  }

  Result<> write_archive(const Fd& fd, const fs::path& path) {
    format::ZipWriter zip(fd, path);
    OPDUMP_CHECK_OK(visit_slots([&](const dump::Slot& slot, const std::string& name) -> Result<> {
      auto array = open_slot(slot, target_.format, 1);
      if (!takes(name, array ? ok() : Result<>(array.error()))) return ok();
      OPDUMP_CHECK_OK(add_to_archive(zip, name, *array));
      on_done_(slot.stored_bytes());
      return ok();
    }));
    return zip.finish();
  }

  static Result<> add_to_archive(format::ZipWriter& zip, const std::string& name, arrays::Array& array) {
    OPDUMP_TRY(const std::string header,
               format::encode_npy_header(array.dtype, array.shape, format::NpySpelling::numpy));
    OPDUMP_CHECK_OK(zip.begin(name + ".npy", header.size() + array.byte_count(), kAlignment));
    OPDUMP_CHECK_OK(zip.add(std::as_bytes(std::span(header))));
    for (;;) {
      OPDUMP_TRY(const auto piece, array.pieces->next());
      if (piece.empty()) return zip.end();
      OPDUMP_CHECK_OK(zip.add(piece));
    }
  }

  // Dtypes and shapes of all come first in the file. The elements are read when it is their turn, so that one
  // tensor at a time is in memory.
  Result<> write_safetensors(const Fd& fd, const fs::path& path) {
    format::SafetensorsHeader header;
    OPDUMP_CHECK_OK(visit_slots([&](const dump::Slot& slot, const std::string& name) -> Result<> {
      const auto array = open_slot(slot, target_.format, 1);
      Result<> opened = ok();
      if (!array)
        opened = array.error();
      else if (format::safetensors_dtype(array->dtype).empty())
        opened =
            Error(Code::unsupported, concat({".safetensors has no ", model::dtype_info(array->dtype).name}));
      return takes(name, opened) ? header.add(name, array->dtype, array->shape) : ok();
    }));
    OPDUMP_CHECK_OK(header.finish(
        [&](std::string_view text) { return write_all(fd, std::as_bytes(std::span(text)), path); }));
    std::size_t next = 0;
    return visit_slots([&](const dump::Slot& slot, const std::string&) -> Result<> {
      if (is_refused_[next++]) return ok();
      OPDUMP_TRY(arrays::Array array, open_slot(slot, target_.format, 1));
      OPDUMP_CHECK_OK(arrays::write_pieces(array, fd, path));
      on_done_(slot.stored_bytes());
      return ok();
    });
  }

  const dump::Runs& runs_;
  const ConvertItem& item_;
  const ConvertTarget& target_;
  unsigned threads_;
  const OnDone& on_done_;
  ItemResult result_;
  std::vector<bool> is_refused_;  // of each tensor of the step whose turn has come
};

}  // namespace

std::uint64_t ItemLister::rounds(std::uint64_t tensors) const {
  if (target_->is_file_each()) return (tensors + kAtOnce - 1) / kAtOnce;
  std::uint64_t rounds = 0;
  for (std::size_t first = 0, last = 0; last < chosen_.size(); last = step_end(last)) {
    if (rounds > 0 && last - first < kAtOnce) continue;
    first = last;
    ++rounds;
  }
  return rounds;
}

std::vector<ConvertItem> ItemLister::next() {
  if (target_->is_file_each()) return next_tensors();
  std::vector<ConvertItem> items;
  const std::size_t first = next_;
  while (next_ < chosen_.size() && next_ - first < kAtOnce) {
    const std::size_t step = std::exchange(next_, step_end(next_));
    list_step(chosen_.subspan(step, next_ - step), items);
  }
  return items;
}

std::size_t ItemLister::step_end(std::size_t first) const {
  std::size_t last = first + 1;
  const dump::Runs::Section& section = runs_->section_of(chosen_[first]);
  while (last < chosen_.size() && have_same_place(runs_->section_of(chosen_[last]), section)) ++last;
  return last;
}

std::vector<ConvertItem> ItemLister::next_tensors() {
  std::vector<ConvertItem> items;
  while (items.size() < kAtOnce) {
    dump::Slot* const slot = slots_ ? slots_->next() : nullptr;
    if (slot == nullptr) {
      if (next_ == chosen_.size()) break;
      enter(chosen_[next_++]);
    } else if (is_wanted(*slot, target_->slot)) {
      std::string name = target_->is_golden() ? name_golden(*slot) : names_.next(op_, *slot);
      const std::string place = target_->is_golden() ? "" : place_of(*section_).string();
      const std::uint64_t bytes = slot->stored_bytes();
      items.push_back({place, {}, std::move(name), std::move(*slot), bytes});
    }
  }
  return items;
}

// A name that is too long becomes a number, as CANN names its own files.
std::string ItemLister::name_golden(const dump::Slot& slot) {
  constexpr std::string_view kEnd = ".npy";
  std::string name = names_.next_golden(op_, slot);
  if (name.size() + kEnd.size() <= dump::kMaxFileName) return name;
  std::string number = std::to_string(std::hash<std::string>()(name));
  format::append_mapping_line(mapping_, concat({number, kEnd}), concat({name, kEnd}));
  return number;
}

void ItemLister::enter(std::uint32_t run) {
  const dump::Runs::Section& section = runs_->section_of(run);
  const bool has_other_place = section_ == nullptr || !have_same_place(*section_, section);
  if (has_other_place && !target_->is_golden()) names_ = {};
  section_ = &section;
  op_ = runs_->without_slots(run).name;
  slots_.emplace(runs_->slots(run));
}

void ItemLister::list_step(std::span<const std::uint32_t> step, std::vector<ConvertItem>& items) const {
  ConvertItem item{place_of(runs_->section_of(step.front())).string(), step, {}, {}, 0};
  bool is_empty = true;
  for (const std::uint32_t i : step)
    for (const dump::Slot& slot : runs_->slots(i)) {
      if (!is_wanted(slot, target_->slot)) continue;
      is_empty = false;
      item.bytes += slot.stored_bytes();
    }
  if (!is_empty) items.push_back(std::move(item));
}

ItemResult convert_item(const dump::Runs& runs, const ConvertItem& item, const ConvertTarget& target,
                        unsigned threads, const OnDone& on_done) {
  return ItemConverter(runs, item, target, threads, on_done).convert();
}

}  // namespace opdump::cli
