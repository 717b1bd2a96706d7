#include "format/graphs/graph_proto.h"

#include <algorithm>
#include <exception>
#include <iterator>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>
#include <type_traits>

namespace opdump::format::proto {
namespace {

using protozero::pbf_reader;
using protozero::pbf_wire_type;
using protozero::pbf_writer;

using model::DType;

struct Number {
  DType dtype;
  std::int64_t number;
};
// Complex numbers have none: 43 and 44 mean them in the sibling schema only.
constexpr Number kNumbers[] = {
    {DType::boolean, 1}, {DType::int8, 2},      {DType::int16, 3},    {DType::int32, 4},
    {DType::int64, 5},   {DType::uint8, 6},     {DType::uint16, 7},   {DType::uint32, 8},
    {DType::uint64, 9},  {DType::float16, 10},  {DType::float32, 11}, {DType::float64, 12},
    {DType::int4, 48},   {DType::bfloat16, 46},
};

constexpr int kMaxMessageDepth = 100;

// Messages in memory are larger than in the file, the more so the less they say. A dimension has 4 bytes
// there, a number in a list 7; nothing useful exceeds this.
constexpr std::uint64_t kMaxGrowth = 64;
constexpr std::uint64_t kFreeBytes = 1 << 20;

template <typename T>
constexpr bool is_listed_message = std::is_base_of_v<Message, T>;

class ProtoDecoder {
 public:
  explicit ProtoDecoder(std::size_t file_bytes) : budget_(file_bytes * kMaxGrowth + kFreeBytes) {}
  bool exceeded() const { return exceeded_; }

  // A field that appears again adds to the message, as protobuf does.
  template <typename M>
  void decode(pbf_reader reader, M& message, int depth) {
    exceeded_ |= depth > kMaxMessageDepth || budget_ < sizeof(M);
    if (exceeded_) return;
    budget_ -= sizeof(M);
    const char* begin = reader.data().data();
    while (!exceeded_ && reader.next()) {
      const bool known = std::apply(
          [&](const auto&... field) { return (take(reader, field, message, depth) || ...); }, M::fields());
      if (!known) reader.skip();
      const char* end = reader.data().data();
      if (!known) message.unlisted.append(begin, end);
      begin = end;
    }
  }

 private:
  std::uint64_t budget_;
  bool exceeded_ = false;

  template <typename Member, typename M>
  bool take(pbf_reader& reader, const Field<Member>& field, M& message, int depth) {
    return reader.tag() == field.number && take(reader, message.*field.member, depth);
  }

  // False if the field has another wire type than its kind: then it belongs to another schema.
  bool take(pbf_reader& reader, std::optional<std::string>& value, int) {
    if (reader.wire_type() != pbf_wire_type::length_delimited) return false;
    value = reader.get_string();
    return true;
  }
  bool take(pbf_reader& reader, std::optional<std::int64_t>& value, int) {
    if (reader.wire_type() != pbf_wire_type::varint) return false;
    value = reader.get_int64();
    return true;
  }
  bool take(pbf_reader& reader, std::optional<std::uint64_t>& value, int) {
    if (reader.wire_type() != pbf_wire_type::varint) return false;
    value = reader.get_uint64();
    return true;
  }
  bool take(pbf_reader& reader, std::optional<bool>& value, int) {
    if (reader.wire_type() != pbf_wire_type::varint) return false;
    value = reader.get_uint64() != 0;
    return true;
  }
  bool take(pbf_reader& reader, std::optional<float>& value, int) {
    if (reader.wire_type() != pbf_wire_type::fixed32) return false;
    value = reader.get_float();
    return true;
  }
  bool take(pbf_reader& reader, std::optional<double>& value, int) {
    if (reader.wire_type() != pbf_wire_type::fixed64) return false;
    value = reader.get_double();
    return true;
  }
  bool take(pbf_reader& reader, std::vector<std::int64_t>& values, int) {
    if (reader.wire_type() != pbf_wire_type::varint) return false;
    values.push_back(reader.get_int64());
    return true;
  }
  template <typename M>
  bool take(pbf_reader& reader, Child<M>& child, int depth) {
    if (reader.wire_type() != pbf_wire_type::length_delimited) return false;
    decode(reader.get_message(), child.emplace(), depth + 1);
    return true;
  }
  template <typename M>
  requires is_listed_message<M>
  bool take(pbf_reader& reader, std::vector<M>& messages, int depth) {
    if (reader.wire_type() != pbf_wire_type::length_delimited) return false;
    decode(reader.get_message(), messages.emplace_back(), depth + 1);
    return true;
  }
};

template <typename M>
Result<M> decode_message(std::string_view bytes) {
  ProtoDecoder decoder(bytes.size());
  M message;
  try {
    decoder.decode(pbf_reader(bytes.data(), bytes.size()), message, 1);
  } catch (const std::exception& e) {
    return Error(Code::corrupt, std::string("not a graph in protobuf format: ") + e.what());
  }
  if (decoder.exceeded()) return Error(Code::limit, "nested too deep, or too many messages for its size");
  return message;
}

template <typename M>
requires is_listed_message<M> std::string encode_message(const M& message);

void put(pbf_writer& writer, std::uint32_t number, const std::string& value) {
  writer.add_bytes(number, value);
}
void put(pbf_writer& writer, std::uint32_t number, std::int64_t value) { writer.add_int64(number, value); }
void put(pbf_writer& writer, std::uint32_t number, std::uint64_t value) { writer.add_uint64(number, value); }
void put(pbf_writer& writer, std::uint32_t number, bool value) { writer.add_bool(number, value); }
void put(pbf_writer& writer, std::uint32_t number, float value) { writer.add_float(number, value); }
void put(pbf_writer& writer, std::uint32_t number, double value) { writer.add_double(number, value); }
template <typename M>
requires is_listed_message<M>
void put(pbf_writer& writer, std::uint32_t number, const M& message) {
  writer.add_message(number,
                     encode_message(message));  // in one piece: a pbf_writer of its own drops empty ones
}
template <typename T>
void put(pbf_writer& writer, std::uint32_t number, const std::optional<T>& value) {
  if (value) put(writer, number, *value);
}
template <typename M>
void put(pbf_writer& writer, std::uint32_t number, const Child<M>& child) {
  if (child) put(writer, number, *child);
}
template <typename T>
void put(pbf_writer& writer, std::uint32_t number, const std::vector<T>& values) {
  for (const T& value : values) put(writer, number, value);
}

template <typename M>
requires is_listed_message<M> std::string encode_message(const M& message) {
  std::string bytes;
  pbf_writer writer(bytes);
  std::apply([&](const auto&... field) { (put(writer, field.number, message.*field.member), ...); },
             M::fields());
  bytes += message.unlisted;
  return bytes;
}

}  // namespace

std::int64_t number_of(DType dtype) {
  const auto found = std::ranges::find(kNumbers, dtype, &Number::dtype);
  return found == std::end(kNumbers) ? kUndefined : found->number;
}

DType dtype_of(std::int64_t number) {
  const auto found = std::ranges::find(kNumbers, number, &Number::number);
  return found == std::end(kNumbers) ? DType::undefined : found->dtype;
}

Result<ModelProto> decode_model(std::string_view bytes) { return decode_message<ModelProto>(bytes); }
Result<GraphProto> decode_graph(std::string_view bytes) { return decode_message<GraphProto>(bytes); }
std::string encode(const ModelProto& model) { return encode_message(model); }
std::string encode(const GraphProto& graph) { return encode_message(graph); }

}  // namespace opdump::format::proto
