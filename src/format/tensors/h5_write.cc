#include <fcntl.h>
#include <sys/file.h>

#include <array>
#include <utility>

#include "base/version.h"
#include "format/tensors/h5.h"
#include "format/tensors/h5_types.h"

namespace opdump::format {
namespace {

constexpr std::uint64_t kLargeBytes = 1 << 20;

Result<> check_path(const std::string& path) {
  bool is_bad = path.size() < 2 || path.front() != '/' || path.find('\0') != std::string::npos;
  for (std::size_t at = 1; !is_bad && at <= path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    const std::string_view piece = std::string_view(path).substr(at, end - at);
    is_bad = piece.empty() || piece == "." || piece == "..";
    at = end + 1;
  }
  return is_bad ? Result<>(Error(Code::usage, "'" + path + "' is no path of HDF5; expected /group/name"))
                : ok();
}

// A dataspace: scalar for rank 0 unless it is a list's.
H5Id make_space(const H5Library& h5, std::span<const std::int64_t> dims) {
  if (dims.empty()) return {h5.H5Screate(H5S_SCALAR), h5.H5Sclose};
  const std::vector<hsize_t> sizes(dims.begin(), dims.end());
  return {h5.H5Screate_simple(static_cast<int>(sizes.size()), sizes.data(), nullptr), h5.H5Sclose};
}

bool write_attribute(const H5Library& h5, hid_t dataset, const H5Attribute& attribute) {
  const std::array size = {static_cast<std::int64_t>(attribute.values.size())};
  const H5Id space = attribute.is_list ? make_space(h5, size) : make_space(h5, {});
  if (!space) return false;
  const hid_t type = attribute.is_list ? h5.H5T_STD_I64LE_g : h5.H5T_STD_I32LE_g;
  const H5Id id(h5.H5Acreate2(dataset, attribute.name.c_str(), type, space.get(), H5P_DEFAULT, H5P_DEFAULT),
                h5.H5Aclose);
  if (!id) return false;
  // The library converts: our numbers are all of 64 bits.
  return attribute.values.empty() || h5.H5Awrite(id.get(), h5.H5T_STD_I64LE_g, attribute.values.data()) >= 0;
}

// The state of the file, in texts of fixed sizes: they are changed where they are, in one write.
struct StateText {
  const char* name;
  std::size_t size;
  std::string H5State::*text;
};
constexpr std::array kStateTexts = {StateText{"opdump_state", 16, &H5State::state},
                                    StateText{"opdump_loss", 256, &H5State::loss},
                                    StateText{"opdump_version", 16, &H5State::version}};

bool write_state(const H5Library& h5, hid_t file, const H5State& state, bool is_new) {
  for (const StateText& part : kStateTexts) {
    std::string text = state.*part.text;
    text.resize(part.size - 1);  // filled up with zeros, of which the last is the end
    text.push_back('\0');
    const H5Id type(h5.H5Tcopy(h5.H5T_C_S1_g), h5.H5Tclose);
    if (!type || h5.H5Tset_size(type.get(), part.size) < 0) return false;
    const H5Id space = make_space(h5, {});
    const H5Id attribute(
        is_new ? h5.H5Acreate2(file, part.name, type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT)
               : h5.H5Aopen(file, part.name, H5P_DEFAULT),
        h5.H5Aclose);
    if (!attribute || h5.H5Awrite(attribute.get(), type.get(), text.data()) < 0) return false;
  }
  return true;
}

// Properties of new links: groups on the way are made.
H5Id make_link_properties(const H5Library& h5) {
  H5Id properties(h5.H5Pcreate(h5.H5P_CLS_LINK_CREATE_ID_g), h5.H5Pclose);
  if (properties) h5.H5Pset_create_intermediate_group(properties.get(), 1);
  return properties;
}

// Makes the properties of a new dataset. The file has room for a large one at once: its elements are written
// past the library, which keeps none of them.
H5Id make_creation_properties(const H5Library& h5, bool is_large) {
  H5Id properties(h5.H5Pcreate(h5.H5P_CLS_DATASET_CREATE_ID_g), h5.H5Pclose);
  if (is_large) {
    h5.H5Pset_alloc_time(properties.get(), H5D_ALLOC_TIME_EARLY);
    h5.H5Pset_fill_time(properties.get(), H5D_FILL_TIME_NEVER);
  }
  return properties;
}

// To be made before anything is closed: that is a success, and forgets the failure.
Error write_error(const H5Library& h5, const std::filesystem::path& file, const std::string& path) {
  return {Code::io, file.string() + ": " + path + ": " + h5_reason(h5)};
}

}  // namespace

Result<H5Writer> H5Writer::create(const std::filesystem::path& path) {
  H5Writer writer(path);
  OPDUMP_CHECK_OK(writer.begin());
  return writer;
}

Result<> H5Writer::begin() {
  OPDUMP_TRY(const H5Library* const h5, load_h5());
  const H5Lock lock(*h5);
  const H5Id access(h5->H5Pcreate(h5->H5P_CLS_FILE_ACCESS_ID_g), h5->H5Pclose);
  h5->H5Pset_fclose_degree(access.get(), H5F_CLOSE_STRONG);
  h5->H5Pset_file_locking(access.get(), true, true);  // file systems without locks are fine
  file_ = h5->H5Fcreate(path_.c_str(), kH5Truncate, H5P_DEFAULT, access.get());
  if (file_ < 0) return Error(Code::io, path_.string() + ": " + h5_reason(*h5));
  OPDUMP_CHECK_OK(take_descriptor());
  // Before the first data: whatever becomes of the process, the file does not look whole.
  const H5State begun{"recording", "", std::string(kVersion)};
  if (!write_state(*h5, file_, begun, true) || h5->H5Fflush(file_, H5F_SCOPE_LOCAL) < 0)
    return Error(Code::io, path_.string() + ": " + h5_reason(*h5));
  return ok();
}

H5Writer::H5Writer(H5Writer&& other) noexcept { *this = std::move(other); }

H5Writer& H5Writer::operator=(H5Writer&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(file_, other.file_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(kept_, other.kept_);
  std::swap(large_, other.large_);
  std::swap(loss_, other.loss_);
  return *this;
}

H5Writer::~H5Writer() {
  if (file_ < 0) return;
  if (const auto h5 = load_h5()) {
    const H5Lock lock(**h5);
    [[maybe_unused]] const auto held = hold_descriptor();
    (*h5)->H5Fclose(file_);
  }
}

// The descriptor is inside of the library, which gives it on request: it may be replaced.
Result<> H5Writer::take_descriptor() {
  OPDUMP_TRY(const H5Library* const h5, load_h5());
  void* handle = nullptr;
  if (h5->H5Fget_vfd_handle(file_, H5P_DEFAULT, &handle) < 0 || handle == nullptr)
    return Error(Code::io, path_.string() + ": " + h5_reason(*h5));
  descriptor_ = static_cast<int*>(handle);
  kept_ = KeptFile(Fd(*descriptor_), path_, O_RDWR);
  *descriptor_ = kept_.get();
  return ok();
}

// To be called before the library is, which would write into whatever has the descriptor's number now. The
// number is the library's to close.
Result<> H5Writer::hold_descriptor() {
  if (descriptor_ == nullptr || kept_.is_held()) return ok();
  *descriptor_ = -1;
  OPDUMP_TRY(const Fd* const again, kept_.use());
  ::flock(again->get(), LOCK_EX | LOCK_NB);  // as the library does; file systems without locks are fine
  *descriptor_ = again->get();
  return ok();
}

Result<> H5Writer::write_dataset(const std::string& path, const model::TensorView& elements,
                                 std::span<const H5Attribute> attributes) {
  OPDUMP_CHECK_OK(check_path(path));
  OPDUMP_TRY(const H5Library* const h5, load_h5());
  if (file_type_of(*h5, elements.dtype) < 0)
    return Error(Code::unsupported, path + ": " + std::string(model::dtype_info(elements.dtype).name) +
                                        " is not written into HDF5 files");
  if (!model::element_count(elements.shape) || elements.shape.rank() > H5S_MAX_RANK ||
      (elements.data != nullptr && !elements.is_contiguous()))
    return Error(Code::usage,
                 path + ": elements that are not row by row, or a shape that HDF5 does not have");
  const H5Lock lock(*h5);
  OPDUMP_CHECK_OK(noting_loss(hold_descriptor()));
  if (h5->H5Lexists(file_, path.c_str(), H5P_DEFAULT) > 0)
    return Error(Code::usage, path_.string() + ": " + path + " exists");
  return noting_loss(add_dataset(path, elements, attributes));
}

Result<> H5Writer::add_dataset(const std::string& path, const model::TensorView& elements,
                               std::span<const H5Attribute> attributes) {
  OPDUMP_TRY(const H5Library* const h5, load_h5());
  const H5Id space = make_space(*h5, elements.shape.dims());
  const H5Id links = make_link_properties(*h5);
  const hid_t type = file_type_of(*h5, elements.dtype);
  const bool is_large = elements.data != nullptr && elements.byte_count() >= kLargeBytes;
  const H5Id creation = make_creation_properties(*h5, is_large);
  const H5Id dataset(
      h5->H5Dcreate2(file_, path.c_str(), type, space.get(), links.get(), creation.get(), H5P_DEFAULT),
      h5->H5Dclose);
  if (!dataset) return write_error(*h5, path_, path);
  const haddr_t offset = is_large ? h5->H5Dget_offset(dataset.get()) : HADDR_UNDEF;
  if (offset != HADDR_UNDEF) {
    if (auto written = large_.write(*descriptor_, {elements.data, elements.byte_count()}, offset); !written)
      return written.take_error().within(path_.string() + ": " + path);
  } else if (elements.data != nullptr && elements.element_count() > 0 &&
             h5->H5Dwrite(dataset.get(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, elements.data) < 0) {
    return write_error(*h5, path_, path);
  }
  for (const H5Attribute& attribute : attributes)
    if (!write_attribute(*h5, dataset.get(), attribute)) return write_error(*h5, path_, path);
  return ok();
}

Result<> H5Writer::make_group(const std::string& path) {
  OPDUMP_CHECK_OK(check_path(path));
  OPDUMP_TRY(const H5Library* const h5, load_h5());
  const H5Lock lock(*h5);
  OPDUMP_CHECK_OK(noting_loss(hold_descriptor()));
  return noting_loss(add_groups(path));
}

Result<> H5Writer::add_groups(const std::string& path) {
  OPDUMP_TRY(const H5Library* const h5, load_h5());
  for (std::size_t end = 0; end < path.size();) {
    end = std::min(path.find('/', end + 1), path.size());
    const std::string prefix = path.substr(0, end);
    if (h5->H5Lexists(file_, prefix.c_str(), H5P_DEFAULT) > 0) continue;
    const H5Id group(h5->H5Gcreate2(file_, prefix.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
                     h5->H5Gclose);
    if (!group) return write_error(*h5, path_, prefix);
  }
  return ok();
}

Result<> H5Writer::flush() {
  OPDUMP_TRY(const H5Library* const h5, load_h5());
  const H5Lock lock(*h5);
  OPDUMP_CHECK_OK(noting_loss(hold_descriptor()));
  if (h5->H5Fflush(file_, H5F_SCOPE_LOCAL) < 0)
    return noting_loss(Error(Code::io, path_.string() + ": " + h5_reason(*h5)));
  return ok();
}

void H5Writer::lose(std::string what) {
  if (loss_.empty()) loss_ = std::move(what);
}

Result<> H5Writer::noting_loss(Result<> done) {
  if (!done) lose(done.error().message());
  return done;
}

// The state comes last, after everything that it vouches for.
Result<> H5Writer::finish() {
  OPDUMP_TRY(const H5Library* const h5, load_h5());
  OPDUMP_CHECK_OK(noting_loss(hold_descriptor()));
  if (h5->H5Fflush(file_, H5F_SCOPE_LOCAL) < 0)
    return noting_loss(Error(Code::io, path_.string() + ": " + h5_reason(*h5)));
  const H5State ended{loss_.empty() ? "complete" : "incomplete", loss_, std::string(kVersion)};
  if (!write_state(*h5, file_, ended, false)) return Error(Code::io, path_.string() + ": " + h5_reason(*h5));
  return ok();
}

Result<> H5Writer::close() {
  if (file_ < 0) return ok();
  OPDUMP_TRY(const H5Library* const h5, load_h5());
  const H5Lock lock(*h5);
  auto finished = finish();
  const bool is_closed = h5->H5Fclose(std::exchange(file_, -1)) >= 0;
  if (!finished) return finished;
  return is_closed ? ok() : Result<>(Error(Code::io, path_.string() + ": " + h5_reason(*h5)));
}

}  // namespace opdump::format
