#include <algorithm>
#include <array>
#include <cstring>

#include "base/file/file.h"
#include "base/process/isolated.h"
#include "base/text/expansion.h"
#include "format/tensors/h5.h"
#include "format/tensors/h5_types.h"

namespace opdump::format {
namespace {

constexpr std::string_view kMagic("\x89HDF\r\n\x1a\n", 8);
// The most that the deflate filter, the strongest one in use, makes of a byte.
constexpr std::uint64_t kMaxExpansion = 1032;
constexpr std::uint64_t kSmallFile = std::uint64_t{1} << 20;
constexpr std::uint64_t kMaxAttributeValues = 1024;

// A sequence of numbers and text: the format of the child's reply.
class Encoder {
 public:
  void put(std::uint64_t number) { text_.append(reinterpret_cast<const char*>(&number), sizeof number); }
  void put(std::string_view text) {
    put(text.size());
    text_.append(text);
  }
  std::string_view text() const { return text_; }
  void clear() { text_.clear(); }

 private:
  std::string text_;
};

// The child has met hostile bytes: what it says is checked like a file.
class H5Decoder {
 public:
  explicit H5Decoder(std::string_view bytes) : rest_(bytes) {}

  std::uint64_t number() {
    std::uint64_t value = 0;
    if (rest_.size() < sizeof value) return fail();
    std::memcpy(&value, rest_.data(), sizeof value);
    rest_.remove_prefix(sizeof value);
    return value;
  }
  // A count of things that take at least eight bytes each.
  std::uint64_t count() {
    const std::uint64_t value = number();
    return value <= rest_.size() / 8 ? value : fail();
  }
  std::string text() {
    const std::uint64_t size = number();
    if (size > rest_.size()) {
      fail();
      return {};
    }
    std::string value(rest_.substr(0, size));
    rest_.remove_prefix(size);
    return value;
  }
  bool is_ok() const { return ok_; }
  bool is_empty() const { return rest_.empty(); }

 private:
  std::uint64_t fail() {
    ok_ = false;
    rest_ = {};
    return 0;
  }
  std::string_view rest_;
  bool ok_ = true;
};

void encode(const H5Dataset& dataset, Encoder& out) {
  out.put(dataset.path);
  out.put(static_cast<std::uint64_t>(dataset.dtype));
  out.put(dataset.shape.rank());
  for (const std::int64_t dim : dataset.shape.dims()) out.put(static_cast<std::uint64_t>(dim));
  out.put(dataset.stored_bytes);
  out.put(dataset.extent ? 1 : 0);
  out.put(dataset.extent ? dataset.extent->offset : 0);
  out.put(dataset.fault);
  out.put(dataset.attributes.size());
  for (const H5Attribute& attribute : dataset.attributes) {
    out.put(attribute.name);
    out.put(attribute.is_list ? 1 : 0);
    out.put(attribute.values.size());
    for (const std::int64_t value : attribute.values) out.put(static_cast<std::uint64_t>(value));
  }
}

H5Attribute decode_attribute(H5Decoder& in) {
  H5Attribute attribute;
  attribute.name = in.text();
  attribute.is_list = in.number() != 0;
  for (std::uint64_t left = in.count(); left > 0; --left)
    attribute.values.push_back(static_cast<std::int64_t>(in.number()));
  return attribute;
}

H5Dataset decode_dataset(H5Decoder& in) {
  H5Dataset dataset;
  dataset.path = in.text();
  dataset.dtype = static_cast<model::DType>(std::min<std::uint64_t>(in.number(), 255));
  std::vector<std::int64_t> dims(in.count());
  for (std::int64_t& dim : dims) dim = static_cast<std::int64_t>(in.number());
  dataset.shape = model::Shape(dims);
  dataset.stored_bytes = in.number();
  const bool is_plain = in.number() != 0;
  const std::uint64_t offset = in.number();
  if (is_plain) dataset.extent = Extent{offset, dataset.stored_bytes};
  dataset.fault = in.text();
  for (std::uint64_t left = in.count(); left > 0; --left) dataset.attributes.push_back(decode_attribute(in));
  return dataset;
}

std::uint64_t bytes_of(const H5Dataset& dataset) {
  return model::TensorView{dataset.dtype, dataset.shape, {}, nullptr}.byte_count();
}

// What the file says of the elements, held against its size. A dataset that does not agree keeps its name and
// says why it is not read.
void check_elements(H5Dataset& dataset, std::uint64_t file_bytes) {
  if (!dataset.fault.empty()) {
    dataset.extent.reset();
    return;
  }
  const auto count = model::element_count(dataset.shape);
  if (dataset.dtype == model::DType::undefined || model::dtype_info(dataset.dtype).bits == 0)
    dataset.fault = "elements of a type other than numbers";
  else if (!count)
    dataset.fault = "shape " + model::format_shape(dataset.shape) + " is larger than any file";
  else if (dataset.stored_bytes > file_bytes ||
           (dataset.extent && dataset.extent->offset > file_bytes - dataset.stored_bytes))
    dataset.fault = "its data ends beyond the file";
  else if (dataset.extent && bytes_of(dataset) > dataset.stored_bytes)
    dataset.fault = "shape " + model::format_shape(dataset.shape) + " needs more than its " +
                    std::to_string(dataset.stored_bytes) + " bytes";
  else if (dataset.stored_bytes > 0 && bytes_of(dataset) / kMaxExpansion > dataset.stored_bytes)
    dataset.fault = "shape " + model::format_shape(dataset.shape) + " does not fit in " +
                    std::to_string(dataset.stored_bytes) + " stored bytes";
  if (!dataset.fault.empty()) dataset.extent.reset();
  if (dataset.extent) dataset.extent->bytes = bytes_of(dataset);
}

// The elements that do not lie in the file as they are, of all datasets so far: datasets may share them.
void check_unpacked(H5Dataset& dataset, std::uint64_t file_bytes, std::uint64_t& unpacked) {
  if (!dataset.fault.empty() || dataset.extent || dataset.stored_bytes == 0) return;
  std::uint64_t sum = 0;
  if (__builtin_add_overflow(unpacked, bytes_of(dataset), &sum)) sum = UINT64_MAX;
  if (const auto allowed = check_expansion(file_bytes, sum, "elements"); !allowed)
    dataset.fault = allowed.error().message();
  else
    unpacked = sum;
}

// ---- In the child: everything below may crash.

struct OpenFile {
  H5Id access, file;
};

Result<OpenFile> open_file(const H5Library& h5, const std::filesystem::path& path) {
  h5.H5PLset_loading_state(0);
  OpenFile opened;
  opened.access = H5Id(h5.H5Pcreate(h5.H5P_CLS_FILE_ACCESS_ID_g), h5.H5Pclose);
  h5.H5Pset_file_locking(opened.access.get(), false, true);  // a dump that is being written is read as it is
  opened.file = H5Id(h5.H5Fopen(path.c_str(), kH5ReadOnly, opened.access.get()), h5.H5Fclose);
  if (!opened.file) return Error(Code::corrupt, h5_reason(h5));
  return opened;
}

bool read_shape(const H5Library& h5, hid_t space, model::Shape& shape) {
  if (h5.H5Sget_simple_extent_type(space) == H5S_SCALAR) return true;
  std::array<hsize_t, H5S_MAX_RANK> sizes{};
  const int rank = h5.H5Sget_simple_extent_ndims(space);
  if (h5.H5Sget_simple_extent_type(space) != H5S_SIMPLE || rank < 1 || rank > H5S_MAX_RANK ||
      h5.H5Sget_simple_extent_dims(space, sizes.data(), nullptr) < 0)
    return false;
  std::vector<std::int64_t> dims;
  for (int axis = 0; axis < rank; ++axis) dims.push_back(static_cast<std::int64_t>(sizes[axis]));
  shape = model::Shape(dims);
  return true;
}

// A text of a fixed size; empty if there is none.
std::string read_text(const H5Library& h5, hid_t object, const char* name) {
  constexpr std::size_t kMostBytes = 4096;
  if (h5.H5Aexists(object, name) <= 0) return {};
  const H5Id id(h5.H5Aopen(object, name, H5P_DEFAULT), h5.H5Aclose);
  const H5Id type(id ? h5.H5Aget_type(id.get()) : -1, h5.H5Tclose);
  const H5Id space(id ? h5.H5Aget_space(id.get()) : -1, h5.H5Sclose);
  if (!type || !space || h5.H5Tget_class(type.get()) != H5T_STRING ||
      h5.H5Tis_variable_str(type.get()) != 0 || h5.H5Sget_simple_extent_type(space.get()) != H5S_SCALAR ||
      h5.H5Tget_size(type.get()) > kMostBytes)
    return {};
  std::string text(h5.H5Tget_size(type.get()), '\0');
  if (h5.H5Aread(id.get(), type.get(), text.data()) < 0) return {};
  return text.substr(0, text.find('\0'));
}

struct AttributeReader {
  const H5Library& h5;
  std::vector<H5Attribute>& attributes;
};

// Adds the attribute if it holds integers.
herr_t read_attribute(hid_t dataset, const char* name, const H5A_info_t*, void* data) {
  const auto& [h5, attributes] = *static_cast<AttributeReader*>(data);
  const H5Id id(h5.H5Aopen(dataset, name, H5P_DEFAULT), h5.H5Aclose);
  if (!id) return 0;
  const H5Id type(h5.H5Aget_type(id.get()), h5.H5Tclose);
  const H5Id space(h5.H5Aget_space(id.get()), h5.H5Sclose);
  model::Shape shape;
  if (!type || !space || h5.H5Tget_class(type.get()) != H5T_INTEGER || !read_shape(h5, space.get(), shape))
    return 0;
  const auto count = model::element_count(shape);
  if (shape.rank() > 1 || !count || *count > kMaxAttributeValues) return 0;
  H5Attribute attribute{name, shape.rank() == 1, std::vector<std::int64_t>(*count)};
  if (*count > 0 && h5.H5Aread(id.get(), h5.H5T_STD_I64LE_g, attribute.values.data()) < 0) return 0;
  attributes.push_back(std::move(attribute));
  return 0;
}

// Where the elements lie; a fault if they lie in other files.
void read_storage(const H5Library& h5, hid_t dataset, bool is_little_endian, H5Dataset& result) {
  const H5Id properties(h5.H5Dget_create_plist(dataset), h5.H5Pclose);
  const auto layout = properties ? h5.H5Pget_layout(properties.get()) : H5D_LAYOUT_ERROR;
  if (layout == H5D_LAYOUT_ERROR)
    result.fault = "its layout cannot be read";
  else if (layout == H5D_VIRTUAL || h5.H5Pget_external_count(properties.get()) != 0)
    result.fault = "its elements lie in other files, which are not opened";
  if (!result.fault.empty()) return;
  result.stored_bytes = h5.H5Dget_storage_size(dataset);
  const haddr_t offset = layout == H5D_CONTIGUOUS ? h5.H5Dget_offset(dataset) : HADDR_UNDEF;
  if (layout == H5D_CONTIGUOUS && offset == HADDR_UNDEF) result.stored_bytes = 0;
  if (offset != HADDR_UNDEF && is_little_endian) result.extent = Extent{offset, result.stored_bytes};
}

H5Dataset describe(const H5Library& h5, hid_t location, const std::string& path) {
  H5Dataset result;
  result.path = path;
  const H5Id dataset(h5.H5Dopen2(location, path.c_str(), H5P_DEFAULT), h5.H5Dclose);
  const H5Id type(dataset ? h5.H5Dget_type(dataset.get()) : -1, h5.H5Tclose);
  const H5Id space(dataset ? h5.H5Dget_space(dataset.get()) : -1, h5.H5Sclose);
  if (!type || !space || !read_shape(h5, space.get(), result.shape)) {
    result.fault = "cannot be opened: " + h5_reason(h5);
    return result;
  }
  const H5ElementType element = find_element_type(h5, type.get());
  result.dtype = element.dtype;
  read_storage(h5, dataset.get(), element.is_little_endian, result);
  AttributeReader reader{h5, result.attributes};
  h5.H5Aiterate2(dataset.get(), H5_INDEX_NAME, H5_ITER_NATIVE, nullptr, read_attribute, &reader);
  return result;
}

struct Listing {
  const H5Library& h5;
  const IsolatedSend& send;
  Encoder out;
};

// Called for every object once, whatever its number of names: only hard links are followed.
herr_t list_object(hid_t root, const char* name, const H5O_info_t* info, void* data) {
  constexpr std::size_t kToldAtOnce = 64 << 10;  // bytes
  auto& [h5, send, out] = *static_cast<Listing*>(data);
  if (info->type != H5O_TYPE_DATASET) return 0;
  encode(describe(h5, root, "/" + std::string(name)), out);
  if (out.text().size() < kToldAtOnce) return 0;
  if (!send(out.text())) return -1;
  out.clear();
  return 0;
}

// Sends the state, then the datasets, each of them as a whole.
Result<> list(const H5Library& h5, const std::filesystem::path& path, const IsolatedSend& send) {
  OPDUMP_TRY(const OpenFile opened, open_file(h5, path));
  Listing listing{h5, send, {}};
  for (const char* name : {"opdump_state", "opdump_loss", "opdump_version"})
    listing.out.put(read_text(h5, opened.file.get(), name));
  send(listing.out.text());
  listing.out.clear();
  const bool is_whole =
      h5.H5Ovisit2(opened.file.get(), H5_INDEX_NAME, H5_ITER_INC, list_object, &listing, H5O_INFO_BASIC) >= 0;
  Result<> result = is_whole ? ok() : Result<>(Error(Code::corrupt, h5_reason(h5)));
  send(listing.out.text());
  return result;
}

// How large the boxes are in which elements are read: whole chunks, so that each is taken out once, and as
// many of them as make a piece, the last dimension first. What is no chunk of anything is cut between any two
// elements.
std::vector<hsize_t> box_of(const H5Library& h5, hid_t dataset, std::span<const hsize_t> shape,
                            std::uint64_t element_bytes) {
  constexpr std::uint64_t kPieceBytes = 4 << 20;
  std::vector<hsize_t> box(shape.size(), 1);
  const H5Id properties(h5.H5Dget_create_plist(dataset), h5.H5Pclose);
  if (properties && h5.H5Pget_layout(properties.get()) == H5D_CHUNKED)
    h5.H5Pget_chunk(properties.get(), static_cast<int>(box.size()), box.data());
  std::uint64_t bytes = element_bytes;
  for (std::size_t axis = 0; axis < box.size(); ++axis) {
    box[axis] = std::clamp<hsize_t>(box[axis], 1, shape[axis]);
    bytes *= box[axis];
  }
  for (std::size_t axis = box.size(); axis-- > 0;) {
    const hsize_t chunk = box[axis];
    box[axis] = std::min(shape[axis], chunk * std::max<hsize_t>(1, kPieceBytes / bytes));
    bytes = bytes / chunk * box[axis];
    if (box[axis] < shape[axis]) break;
  }
  return box;
}

// Reads the elements of `dataset` into the memory of an array of its shape, box by box.
Result<> read_boxes(const H5Library& h5, hid_t dataset, hid_t type, std::span<const hsize_t> shape,
                    std::span<std::byte> out, std::uint64_t element_bytes) {
  const std::vector<hsize_t> box = box_of(h5, dataset, shape, element_bytes);
  const H5Id space(h5.H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr), h5.H5Sclose);
  std::vector<hsize_t> begin(shape.size(), 0), count(shape.size());
  for (;;) {
    for (std::size_t axis = 0; axis < shape.size(); ++axis)
      count[axis] = std::min(box[axis], shape[axis] - begin[axis]);
    if (h5.H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, begin.data(), nullptr, count.data(), nullptr) <
            0 ||
        h5.H5Dread(dataset, type, space.get(), space.get(), H5P_DEFAULT, out.data()) < 0)
      return Error(Code::corrupt, h5_reason(h5));  // closing what is open would forget it
    std::size_t axis = shape.size();
    while (axis > 0 && (begin[axis - 1] += box[axis - 1]) >= shape[axis - 1]) begin[--axis] = 0;
    if (axis == 0) return ok();
  }
}

// Into `out`, which the parent sees.
Result<> read_elements(const H5Library& h5, const std::filesystem::path& path, const H5Dataset& wanted,
                       std::span<std::byte> out) {
  OPDUMP_TRY(const OpenFile opened, open_file(h5, path));
  const H5Id dataset(h5.H5Dopen2(opened.file.get(), wanted.path.c_str(), H5P_DEFAULT), h5.H5Dclose);
  const H5Id stored(dataset ? h5.H5Dget_type(dataset.get()) : -1, h5.H5Tclose);
  const H5Id space(dataset ? h5.H5Dget_space(dataset.get()) : -1, h5.H5Sclose);
  model::Shape shape;
  if (!stored || !space || !read_shape(h5, space.get(), shape)) return Error(Code::corrupt, h5_reason(h5));
  const H5ElementType element = find_element_type(h5, stored.get());
  if (element.dtype != wanted.dtype || shape != wanted.shape)
    return Error(Code::corrupt, "another dataset than when the file was opened");
  const H5Id type(h5.H5Tcopy(stored.get()), h5.H5Tclose);
  if (!element.is_little_endian) h5.H5Tset_order(type.get(), H5T_ORDER_LE);
  const std::vector<hsize_t> sizes(shape.dims().begin(), shape.dims().end());
  if (sizes.empty()) {
    if (h5.H5Dread(dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, out.data()) < 0)
      return Error(Code::corrupt, h5_reason(h5));
    return ok();
  }
  const std::uint64_t element_bytes = out.size() / *model::element_count(shape);
  return read_boxes(h5, dataset.get(), type.get(), sizes, out, element_bytes);
}

// ---- In the parent.

IsolationLimits limits_for(std::uint64_t file_bytes, std::uint64_t reply_bytes) {
  constexpr std::uint64_t kLibrary = 256 << 20;  // what it takes for itself
  return {reply_bytes, kLibrary + 4 * reply_bytes + 2 * file_bytes,
          std::chrono::seconds(30 + (file_bytes + reply_bytes) / (4 << 20))};
}

// Runs `body`, which may use the library, and passes its replies to `take`, which may not use it.
Result<> ask(const H5Library& h5, const std::filesystem::path& path, const IsolationLimits& limits,
             const std::function<Result<>(const IsolatedSend&)>& body,
             const std::function<Result<>(std::string_view)>& take) {
  const H5Lock lock(h5);  // the child must not find the library in use by another thread
  auto done = run_isolated(limits, body, take);
  if (!done) return done.take_error().within(path.string());
  return done;
}

}  // namespace

std::optional<std::int64_t> H5Dataset::find_number(std::string_view attribute) const {
  const auto found = std::ranges::find(attributes, attribute, &H5Attribute::name);
  if (found == attributes.end() || found->is_list || found->values.size() != 1) return std::nullopt;
  return found->values[0];
}

bool is_h5(std::span<const std::byte> start) {
  return start.size() >= kMagic.size() && std::memcmp(start.data(), kMagic.data(), kMagic.size()) == 0;
}

namespace {

// Closed again: the library opens the file by its name.
Result<std::uint64_t> file_bytes(const std::filesystem::path& path) {
  OPDUMP_TRY(const InputFile file, open_input(path));
  return file.size;
}

}  // namespace

Result<> list_h5(const std::filesystem::path& path, const std::function<void(H5Dataset)>& take,
                 const std::function<void(H5State)>& take_state) {
  OPDUMP_TRY(const std::uint64_t bytes, file_bytes(path));
  OPDUMP_TRY(const H5Library* const h5, load_h5());
  bool has_state = false;
  std::uint64_t unpacked = 0;
  const auto take_piece = [&](std::string_view piece) -> Result<> {
    H5Decoder in(piece);
    if (!std::exchange(has_state, true)) {
      H5State state;
      for (std::string* text : {&state.state, &state.loss, &state.version}) *text = in.text();
      if (take_state) take_state(std::move(state));
      return ok();
    }
    while (!in.is_empty()) {
      H5Dataset dataset = decode_dataset(in);
      if (!in.is_ok()) return Error(Code::corrupt, "reading it failed");
      check_elements(dataset, bytes);
      check_unpacked(dataset, bytes, unpacked);
      take(std::move(dataset));
    }
    return ok();
  };
  return ask(
      *h5, path, limits_for(bytes, 16 * std::max(bytes, kSmallFile)),
      [&](const IsolatedSend& send) { return list(*h5, path, send); }, take_piece);
}

Result<H5File> H5File::open(const std::filesystem::path& path) {
  std::vector<H5Dataset> datasets;
  OPDUMP_CHECK_OK(list_h5(path, [&](H5Dataset dataset) { datasets.push_back(std::move(dataset)); }));
  return H5File(path, std::move(datasets));
}

Result<Scratch> H5File::read(const H5Dataset& dataset) const { return read_h5_elements(path_, dataset); }

Result<Scratch> read_h5_elements(const std::filesystem::path& path, const H5Dataset& dataset) {
  const std::string where = path.string() + ": " + dataset.path + ": ";
  if (!dataset.fault.empty()) return Error(Code::unsupported, where + dataset.fault);
  OPDUMP_TRY(const std::uint64_t in_file, file_bytes(path));
  const std::uint64_t bytes = bytes_of(dataset);
  if (bytes == 0) return Scratch();
  if (dataset.stored_bytes == 0) return Error(Code::not_found, where + "a dataset without data");
  if (bytes / kMaxExpansion > in_file)
    return Error(Code::corrupt, where + "more elements than the file can hold");
  OPDUMP_TRY(const H5Library* const h5, load_h5());
  OPDUMP_TRY(Scratch elements, Scratch::make(bytes, Scratch::Sharing::children));
  const auto read = [&](const IsolatedSend&) { return read_elements(*h5, path, dataset, elements.bytes()); };
  OPDUMP_CHECK_OK(ask(*h5, path, limits_for(in_file, bytes), read, [](std::string_view) { return ok(); }));
  return elements;
}

}  // namespace opdump::format
