// Python saves a state_dict as an OrderedDict with an attribute; libtorch's reader of pickles knows
// neither (it takes every OrderedDict for an absent hook of a tensor), nor the instruction that
// adds a single entry. This rewrites what it does not know into what it does:
//
//   an OrderedDict              a plain dictionary
//   an object and attributes    the tuple (object, attributes)
//   one more entry of a dict    the tuple (dict, key, value)
//
// Bytes in, bytes out: nothing is run, nothing is believed about lengths.
#pragma once

#include <string>
#include <string_view>

#include "metis/core/result.h"

namespace metis::train {

// Fails on what torch.save does not write by itself: other protocols than 2, cut off bytes.
Result<std::string> PlainPickle(std::string_view pickle);

}  // namespace metis::train
