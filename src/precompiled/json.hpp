/// The headers of standard.hpp and JSON, for targets most of whose sources read or write JSON.

#include "base/json.hpp"
#include "precompiled/standard.hpp"
