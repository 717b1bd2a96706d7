#include "format/tensors/tlv_dump.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "format/tensors/dump_names.h"

namespace opdump::format {
namespace {

constexpr std::uint32_t kMagic = 0x5A5A5A5A;
constexpr std::size_t kLengthBytes = 8;
enum Tag : std::uint32_t { kShape = 0, kOriginalShape = 1, kOriginalName = 2, kInputs = 4, kOutputs = 5 };

// Maps the numbers of the C interface to those in dump_data.h; -1 where there is none.
constexpr std::array<std::int8_t, 42> kDTypes = {
    1,  2,  3,  7,  4,  -1, 5,  6,  9,  8,   // FLOAT FLOAT16 INT8 INT32 UINT8 - INT16 UINT16 UINT32 INT64
    10, 12, 11, 13, 14, 15, 16, 17, 18, 19,  // UINT64 DOUBLE BOOL STRING DUAL_SUB_* COMPLEX64 COMPLEX128 Q*
    20, 21, 22, 8,  24, 25, 26, 27, 0,  28,  // QINT32 QUINT8 QUINT16 RESOURCE STRING_REF ... BF16 - INT4
    29, 30, 31, 32, 33, 34, 35, 36, 37, 38,  // UINT1 INT2 UINT2 COMPLEX32 HIFLOAT8 FLOAT8_* FLOAT6_*
    39, 40};                                 // FLOAT4_*

std::int32_t dtype_of(std::uint32_t number) { return number < kDTypes.size() ? kDTypes[number] : -1; }

// Takes numbers off the front of some bytes.
class Cursor {
 public:
  explicit Cursor(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::size_t left() const { return bytes_.size(); }

  Result<std::uint64_t> number(std::size_t size) {
    OPDUMP_TRY(const auto bytes, take(size));
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < size; ++i) value |= std::to_integer<std::uint64_t>(bytes[i]) << 8 * i;
    return value;
  }
  Result<std::uint32_t> u32() {
    OPDUMP_TRY(const std::uint64_t value, number(4));
    return static_cast<std::uint32_t>(value);
  }
  Result<std::span<const std::byte>> take(std::uint64_t size) {
    if (size > bytes_.size())
      return Error(Code::corrupt, "header: " + std::to_string(size) + " bytes expected, " +
                                      std::to_string(bytes_.size()) + " left");
    const auto taken = bytes_.first(size);
    bytes_ = bytes_.subspan(size);
    return taken;
  }

 private:
  std::span<const std::byte> bytes_;
};

struct Tlv {
  std::uint32_t tag = 0;
  Cursor value;
};
Result<Tlv> take_tlv(Cursor& bytes) {
  OPDUMP_TRY(const std::uint32_t tag, bytes.u32());
  OPDUMP_TRY(const std::uint32_t length, bytes.u32());
  OPDUMP_TRY(const auto value, bytes.take(length));
  return Tlv{tag, Cursor(value)};
}

Result<std::vector<std::uint64_t>> take_dims(Cursor& bytes) {
  std::vector<std::uint64_t> dims;
  while (bytes.left() >= 8) {
    if (dims.size() == kMaxDumpEntries) return Error(Code::limit, "header: a shape of too many dimensions");
    OPDUMP_TRY(const std::uint64_t dim, bytes.number(8));
    dims.push_back(dim);
  }
  return dims;
}

using Gaps = std::vector<TlvGap>;

// Notes what is not there while the details of a tensor are met, which come by their tags.
class DetailOrder {
 public:
  DetailOrder(bool is_output, Gaps* gaps) : last_(is_output ? kOriginalName : kOriginalShape), gaps_(gaps) {}

  void meet(const Tlv& tlv) {
    const auto length = static_cast<std::uint32_t>(tlv.value.left());
    for (; next_ <= last_ && next_ != tlv.tag; ++next_) note({next_, tlv.tag, length});
    if (next_ > last_) return;
    const bool is_short = next_ != kOriginalName && length > 0 && length < sizeof(std::uint64_t);
    if (is_short) note({next_, tlv.tag, length});
    ++next_;
  }

 private:
  void note(TlvGap gap) {
    if (gaps_ != nullptr) gaps_->push_back(gap);
  }

  std::uint32_t next_ = kShape, last_;
  Gaps* gaps_;
};

Result<> take_details(Cursor bytes, DumpTensor& tensor, Gaps* gaps) {
  bool has_shape = false;
  DetailOrder order(tensor.origin.has_value(), gaps);
  while (bytes.left() > 0) {
    OPDUMP_TRY(Tlv tlv, take_tlv(bytes));
    order.meet(tlv);
    if (tlv.tag == kShape) {
      OPDUMP_TRY(tensor.shape, take_dims(tlv.value));
      has_shape = true;
    } else if (tlv.tag == kOriginalShape) {
      OPDUMP_TRY(tensor.original_shape, take_dims(tlv.value));
    } else if (tlv.tag == kOriginalName && tensor.origin) {
      OPDUMP_TRY(const auto name, tlv.value.take(tlv.value.left()));
      tensor.origin->name.assign(reinterpret_cast<const char*>(name.data()), name.size());
    }
  }
  // Without a shape all bytes are elements.
  const std::uint64_t bits = model::dtype_info(dump_dtype(tensor.data_type)).bits;
  if (!has_shape && bits > 0)
    tensor.shape = {tensor.size_bytes / bits * 8 + tensor.size_bytes % bits * 8 / bits};
  return ok();
}

Result<DumpOrigin> take_origin(Cursor& bytes) {
  DumpOrigin origin;
  OPDUMP_TRY(origin.output_index, bytes.u32());
  OPDUMP_TRY(const std::uint32_t dtype, bytes.u32());
  OPDUMP_TRY(const std::uint32_t format, bytes.u32());
  origin.data_type = dtype_of(dtype);
  origin.format = static_cast<std::int32_t>(format);
  return origin;
}

Result<DumpTensor> take_tensor(Cursor& bytes, bool is_output, Gaps* gaps) {
  DumpTensor tensor;
  OPDUMP_TRY(const std::uint32_t dtype, bytes.u32());
  OPDUMP_TRY(const std::uint32_t format, bytes.u32());
  tensor.data_type = dtype_of(dtype);
  tensor.format = static_cast<std::int32_t>(format);
  OPDUMP_TRY([[maybe_unused]] const std::uint32_t address_type, bytes.u32());
  if (is_output) {
    OPDUMP_TRY(tensor.origin, take_origin(bytes));
  }
  OPDUMP_TRY(tensor.address, bytes.number(8));
  OPDUMP_TRY(tensor.offset, bytes.number(8));
  OPDUMP_TRY(tensor.size_bytes, bytes.number(8));
  OPDUMP_TRY(const std::uint32_t details, bytes.u32());
  OPDUMP_TRY(const auto rest, bytes.take(details));
  OPDUMP_CHECK_OK(take_details(Cursor(rest), tensor, gaps));
  return tensor;
}

Result<std::vector<DumpTensor>> take_tensors(Cursor bytes, bool is_output, Gaps* gaps) {
  std::vector<DumpTensor> tensors;
  OPDUMP_TRY(const std::uint32_t count, bytes.u32());
  if (count > kMaxDumpEntries) return Error(Code::limit, "header: too many tensors");
  for (std::uint32_t i = 0; i < count; ++i) {
    OPDUMP_TRY(DumpTensor tensor, take_tensor(bytes, is_output, gaps));
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

// Where everything lies; nothing if the file is too short.
void place_payload(DumpData& data, std::uint64_t offset, std::uint64_t file_bytes) {
  data.payload_bytes = file_bytes - offset;
  for (auto* tensors : {&data.inputs, &data.outputs})
    for (const DumpTensor& tensor : *tensors)
      if (__builtin_add_overflow(data.announced_bytes, tensor.size_bytes, &data.announced_bytes))
        data.announced_bytes = UINT64_MAX;
  if (data.announced_bytes > data.payload_bytes) return;
  for (auto* tensors : {&data.inputs, &data.outputs})
    for (DumpTensor& tensor : *tensors) {
      tensor.data = Extent{offset, tensor.size_bytes};
      offset += tensor.size_bytes;
    }
}

}  // namespace

bool is_tlv_dump(std::span<const std::byte> file) {
  if (file.size() <= kLengthBytes + 4) return false;
  return std::ranges::all_of(file.subspan(kLengthBytes, 4), [](std::byte b) { return b == std::byte{0x5A}; });
}

Result<DumpData> decode_tlv_dump(std::span<const std::byte> file, std::vector<TlvGap>* gaps) {
  Cursor start(file);
  OPDUMP_TRY(const std::uint64_t length, start.number(kLengthBytes));
  if (length > kMaxDumpHeader) return Error(Code::limit, "header of " + std::to_string(length) + " bytes");
  OPDUMP_TRY(const auto bytes, start.take(length));
  Cursor header(bytes);
  OPDUMP_TRY(const std::uint32_t magic, header.u32());
  if (magic != kMagic) return Error(Code::corrupt, "header: it does not begin with 5A5A5A5A");
  DumpData data;
  OPDUMP_TRY(const std::uint32_t version, header.u32());
  data.version = std::to_string(version);
  while (header.left() > 0) {
    OPDUMP_TRY(const Tlv tlv, take_tlv(header));
    if (tlv.tag == kInputs) {
      OPDUMP_TRY(data.inputs, take_tensors(tlv.value, false, gaps));
    } else if (tlv.tag == kOutputs) {
      OPDUMP_TRY(data.outputs, take_tensors(tlv.value, true, gaps));
    }
  }
  place_payload(data, kLengthBytes + length, file.size());
  return data;
}

}  // namespace opdump::format
