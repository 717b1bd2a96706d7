#include "cli/convert/convert_slots.h"

#include <algorithm>
#include <utility>

#include "dump/file_name.h"
#include "dump/read/files/slot_file.h"
#include "dump/tensor_names.h"
#include "format/tensors/dump_data.h"
#include "format/tensors/npy.h"
#include "math/layout/device_layout.h"
#include "msaccucmp/log.h"
#include "msaccucmp/read/dump.h"

namespace opdump::cli {
namespace fs = std::filesystem;
namespace {

using model::Format;
using model::Shape;

std::string slot_part(const dump::Slot& slot) {
  return (slot.side == model::Side::input ? "input." : "output.") + std::to_string(slot.index);
}

// What the header of a dump file says of the tensor whose elements lie at `offset`.
struct OriginalLayout {
  Shape shape;
  std::int64_t groups = 1;
};
std::optional<OriginalLayout> find_origin(const dump::Slot& slot) {
  if (!slot.part) return std::nullopt;
  msaccucmp::Log quiet;
  const auto dump = msaccucmp::read_dump(slot.file, false, quiet);
  if (!dump) return std::nullopt;
  for (const auto* tensors : {&dump->data.inputs, &dump->data.outputs})
    for (const format::DumpTensor& tensor : *tensors) {
      if (!tensor.data || tensor.data->offset != slot.part->offset || !tensor.original_shape) continue;
      OriginalLayout origin{{}, std::max<std::int64_t>(tensor.sub_format, 1)};
      const std::vector<std::int64_t> dims(tensor.original_shape->begin(), tensor.original_shape->end());
      origin.shape = Shape(std::span<const std::int64_t>(dims));
      return origin;
    }
  return std::nullopt;
}

// Pieces of a tensor that they own.
class StoredPieces final : public arrays::ArrayPieces {
 public:
  explicit StoredPieces(dump::StoredTensor tensor, std::unique_ptr<arrays::ArrayPieces> pieces)
      : tensor_(std::move(tensor)), pieces_(std::move(pieces)) {}
  Result<std::span<const std::byte>> next() override { return pieces_->next(); }

 private:
  dump::StoredTensor tensor_;
  std::unique_ptr<arrays::ArrayPieces> pieces_;
};

// Elements of a mapped file that stays mapped while they are used. Nothing is copied, wherever they lie.
class MappedPieces final : public arrays::ArrayPieces {
 public:
  MappedPieces(MappedFile file, std::unique_ptr<arrays::ArrayPieces> pieces)
      : file_(std::move(file)), pieces_(std::move(pieces)) {}
  Result<std::span<const std::byte>> next() override { return pieces_->next(); }
  std::optional<FileRange> range() const override { return pieces_->range(); }

 private:
  MappedFile file_;
  std::unique_ptr<arrays::ArrayPieces> pieces_;
};

// Where the elements of a slot lie row by row in a file, if they do.
struct ElementPlace {
  model::DType dtype = model::DType::undefined;
  Shape shape;
  std::uint64_t offset = 0;
};
std::optional<ElementPlace> find_place(const dump::Slot& slot, std::span<const std::byte> file) {
  if (slot.packing != dump::Packing::none) return std::nullopt;
  if (!slot.part) {
    const auto header = format::decode_npy_header(file);
    if (!header || header->fortran_order) return std::nullopt;
    return ElementPlace{header->dtype, header->shape, header->data_offset};
  }
  const model::DType dtype = slot.stored_dtype == model::DType::undefined ? slot.dtype : slot.stored_dtype;
  const ElementPlace place{dtype, slot.shape.value_or(Shape()), slot.part->offset};
  const std::uint64_t bytes = model::TensorView{dtype, place.shape, {}, nullptr}.byte_count();
  const bool is_whole =
      place.offset <= file.size() && bytes <= file.size() - place.offset && bytes <= slot.part->bytes;
  const bool is_known = model::dtype_info(dtype).bits > 0 && model::element_count(place.shape);
  return is_whole && is_known ? std::optional(place) : std::nullopt;
}

// The shapes of a change, `origin` being what the dump knows of the tensor; blocks are made as most chips
// make those of `dtype`. Errors: as math::convert_shape.
Result<arrays::LayoutChange> shapes_of(model::DType dtype, const Shape& stored, Format from, Format to,
                                       const std::optional<OriginalLayout>& origin) {
  arrays::LayoutChange change{from, to, stored, {}, {}, origin ? origin->groups : 1};
  const math::LayoutOptions options{math::block_sizes(dtype, math::Chip::ascend), change.groups};
  const auto padded = math::convert_shape(stored, from, to, options);
  if (padded) {
    change.made = change.result = *padded;
  } else if (origin) {
    change.made = change.result = origin->shape;  // filters hide their height and width
    return change;
  } else {
    return Error(padded.error().code(), padded.error().message());
  }
  if (!math::is_plain_layout(to) || !origin) return change;
  if (origin->shape.rank() == 1 && math::holds_vector(stored, from, origin->shape[0]))
    change.result = origin->shape;
  if (origin->shape.rank() != padded->rank()) return change;
  bool is_cut = true;
  for (std::size_t i = 0; i < padded->rank(); ++i) is_cut = is_cut && origin->shape[i] <= (*padded)[i];
  if (is_cut) change.result = origin->shape;
  return change;
}

}  // namespace

fs::path place_of(const dump::Runs::Section& section) {
  return fs::path("rank_" + std::to_string(section.rank)) / ("graph_" + std::to_string(section.graph_id)) /
         (section.step < 0 ? "constants" : "step_" + std::to_string(section.step));
}

bool have_same_place(const dump::Runs::Section& a, const dump::Runs::Section& b) {
  return a.rank == b.rank && a.graph_id == b.graph_id && (a.step == b.step || (a.step < 0 && b.step < 0));
}

bool is_meant(const dump::Slot& slot, const std::string& wanted) {
  return wanted.empty() || wanted == slot_part(slot) ||
         wanted == model::kSideNames[static_cast<std::size_t>(slot.side)];
}

bool is_wanted(const dump::Slot& slot, const std::string& wanted) {
  return !slot.file.empty() && is_meant(slot, wanted);
}

std::string SlotNames::next(const std::string& op, const dump::Slot& slot) {
  const std::string part = dump::converted_name(op), end = "." + slot_part(slot);
  std::uint32_t& count = counts_[part + end];
  for (;;) {
    std::string name = dump::execution_name(part, count) + end;
    if (count++ > 0 && !counts_.try_emplace(name, 1).second) continue;  // an operator is called so
    return name;
  }
}

std::string SlotNames::next_golden(const std::string& op, const dump::Slot& slot) {
  constexpr std::uint64_t kFirstTime =
      1'000'000'000'000'000;  // msaccucmp expects 16 digits; the latest one counts
  const std::string part = dump::plain_name(op) + "." + std::to_string(slot.index);
  const std::uint64_t time = std::max(slot.timestamp_us, kFirstTime) + counts_[part]++;
  return part + "." + std::to_string(time);
}

Result<arrays::Array> open_slot(const dump::Slot& slot, std::optional<Format> format, unsigned threads) {
  const auto from = model::find_format(slot.format);
  // ND names no dimension, so there is nothing to bring into an order.
  const bool is_changed =
      format && from && *from != *format && *from != Format::nd && math::can_convert_layout(*from, *format);
  const auto open = [&](const arrays::Elements& elements, const Shape& shape) -> Result<arrays::Array> {
    arrays::Array array{arrays::file_dtype(elements.dtype), shape, nullptr};
    if (!is_changed) {
      array.pieces = arrays::make_pieces(elements);
      return array;
    }
    OPDUMP_TRY(arrays::LayoutChange change,
               shapes_of(elements.dtype, shape, *from, *format, find_origin(slot)));
    array.shape = change.result;
    OPDUMP_TRY(array.pieces, arrays::change_layout(elements, std::move(change), threads));
    return array;
  };
  OPDUMP_TRY(MappedFile file, dump::map_slot_file(slot));
  if (const auto place = find_place(slot, file.bytes())) {
    const model::TensorView view{place->dtype, place->shape, {}, nullptr};
    const std::uint64_t bytes = view.byte_count();
    OPDUMP_TRY(arrays::Array array,
               open({place->dtype, view.element_count(), file.bytes().subspan(place->offset, bytes),
                     FileRange{slot.file, place->offset, bytes}, false},
                    place->shape));
    array.pieces = std::make_unique<MappedPieces>(std::move(file), std::move(array.pieces));
    return array;
  }
  OPDUMP_TRY(dump::StoredTensor stored, dump::StoredTensor::read(slot));
  OPDUMP_CHECK_OK(stored.straighten());
  const model::TensorView view = stored.view();
  arrays::Array array{arrays::file_dtype(view.dtype), view.shape, arrays::make_pieces(view, std::nullopt)};
  if (view.is_contiguous()) {
    OPDUMP_TRY(array,
               open({view.dtype, view.element_count(), {view.data, view.byte_count()}, std::nullopt, false},
                    view.shape));
  }
  array.pieces = std::make_unique<StoredPieces>(std::move(stored), std::move(array.pieces));
  return array;
}

}  // namespace opdump::cli
