// This file replaces the pages where npm could not build them.
#include "result/page.h"

namespace opdump::result {

std::string_view page_asset() { return {}; }

}  // namespace opdump::result
