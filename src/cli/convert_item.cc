#include "cli/convert_item.h"

#include <system_error>
#include <utility>

#include "arrays/file.h"
#include "arrays/text.h"
#include "base/concat.h"
#include "format/npy.h"
#include "format/safetensors.h"
#include "format/zip_writer.h"

namespace opdump::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kAlignment = 64;  // of arrays in .npz

class ItemConverter {
 public:
  ItemConverter(const ConvertItem& item, const ConvertTarget& target, unsigned threads, const OnDone& on_done)
      : item_(item), target_(target), threads_(threads), on_done_(on_done) {}

  ItemResult convert() {
    if (item_.slot != nullptr)
      note(*item_.slot, write_slot());
    else
      convert_step();
    return std::move(result_);
  }

 private:
  void note(const NamedSlot& slot, const Result<>& written) {
    if (written)
      ++result_.converted;
    else
      result_.failures.push_back(concat({slot.name, ": ", written.error().message()}));
  }

  Result<> write_slot() const {
    const fs::path path = target_.output / item_.step->place / concat({item_.slot->name, ".", target_.to});
    OPDUMP_TRY(arrays::Array array, open_slot(item_.step->at(*item_.slot), target_.format, threads_));
    const double share = static_cast<double>(item_.bytes) / static_cast<double>(array.byte_count() + 1);
    array.on_written = [&](std::uint64_t bytes) {
      on_done_(static_cast<std::uint64_t>(static_cast<double>(bytes) * share));
    };
    if (target_.to == "npy") return arrays::write_npy(array, false, path);
    if (target_.to == "bin") return arrays::write_elements(array, path);
    if (target_.to == "txt") return arrays::write_text(array, path, threads_);
    return arrays::write_torch(array, path);
  }

  void convert_step() {
    const fs::path path = target_.output / (item_.step->place.string() + "." + target_.to);
    std::vector<const NamedSlot*> slots;  // that are in the file, or would be
    const auto write = [&]() -> Result<> {
      OPDUMP_TRY(const Fd fd, create_file(path, 0600));
      return target_.to == "npz" ? write_archive(fd, path, slots) : write_safetensors(fd, path, slots);
    };
    const auto written = write();
    for (const NamedSlot* slot : slots) note(*slot, written);
    std::error_code error;
    if (!written) fs::remove(path, error);
  }

  Result<> write_archive(const Fd& fd, const fs::path& path, std::vector<const NamedSlot*>& slots) {
    format::ZipWriter zip(fd, path);
    Result<> written = ok();
    for (const NamedSlot& slot : item_.step->slots) {
      auto array = open_slot(item_.step->at(slot), target_.format, 1);
      if (!array) {
        note(slot, array.error());
        continue;
      }
      slots.push_back(&slot);
      if (!written) continue;  // there will be no archive to be in
      written = add_to_archive(zip, slot, *array);
      on_done_(slot.bytes);
    }
    return written ? zip.finish() : std::move(written);
  }

  static Result<> add_to_archive(format::ZipWriter& zip, const NamedSlot& slot, arrays::Array& array) {
    OPDUMP_TRY(const std::string header,
               format::encode_npy_header(array.dtype, array.shape, format::NpySpelling::numpy));
    OPDUMP_CHECK_OK(zip.begin(concat({slot.name, ".npy"}), header.size() + array.byte_count(), kAlignment));
    OPDUMP_CHECK_OK(zip.add(std::as_bytes(std::span(header))));
    for (;;) {
      OPDUMP_TRY(const auto piece, array.pieces->next());
      if (piece.empty()) return zip.end();
      OPDUMP_CHECK_OK(zip.add(piece));
    }
  }

  // Dtypes and shapes of all come first in the file. The elements are read when it is their turn, so that one
  // tensor at a time is in memory.
  Result<> write_safetensors(const Fd& fd, const fs::path& path, std::vector<const NamedSlot*>& slots) {
    format::SafetensorsHeader header;
    for (const NamedSlot& slot : item_.step->slots) {
      const auto array = open_slot(item_.step->at(slot), target_.format, 1);
      if (!array) {
        note(slot, array.error());
      } else if (format::safetensors_dtype(array->dtype).empty()) {
        const std::string dtype(model::dtype_info(array->dtype).name);
        note(slot, Error(Code::unsupported, ".safetensors has no " + dtype));
      } else {
        slots.push_back(&slot);
        OPDUMP_CHECK_OK(header.add(std::string(slot.name), array->dtype, array->shape));
      }
    }
    OPDUMP_TRY(const std::string text, header.finish());
    OPDUMP_CHECK_OK(write_all(fd, std::as_bytes(std::span(text)), path));
    for (const NamedSlot* slot : slots) {
      OPDUMP_TRY(arrays::Array array, open_slot(item_.step->at(*slot), target_.format, 1));
      OPDUMP_CHECK_OK(arrays::write_pieces(array, fd, path));
      on_done_(slot->bytes);
    }
    return ok();
  }

  const ConvertItem& item_;
  const ConvertTarget& target_;
  unsigned threads_;
  const OnDone& on_done_;
  ItemResult result_;
};

}  // namespace

std::vector<ConvertItem> list_items(const std::vector<StepSlots>& steps, const ConvertTarget& target) {
  std::vector<ConvertItem> items;
  for (const StepSlots& step : steps) {
    std::uint64_t bytes = 0;
    for (const NamedSlot& slot : step.slots) {
      bytes += slot.bytes;
      if (target.is_file_each()) items.push_back({&step, &slot, slot.bytes});
    }
    if (!target.is_file_each()) items.push_back({&step, nullptr, bytes});
  }
  return items;
}

ItemResult convert_item(const ConvertItem& item, const ConvertTarget& target, unsigned threads,
                        const OnDone& on_done) {
  return ItemConverter(item, target, threads, on_done).convert();
}

}  // namespace opdump::cli
