"""The library that draws the charts: its text, and its licences."""

from __future__ import annotations

import functools

__all__ = ["library"]

_EXPORTS = "window.vegaEmbed = vegaEmbed;"


@functools.cache
def library() -> tuple[str, str]:
    """Return the plotting library as one script, and its licences.

    It is Vega, Vega-Lite and Vega-Embed with their interpreter of expressions, which needs no
    ``eval``; the package vl-convert carries them.
    """
    import vl_convert

    versions = f"Vega {vl_convert.get_vega_version()}, "
    versions += f"Vega-Lite {vl_convert.get_vegalite_versions()[-1]}, "
    versions += f"Vega-Embed {vl_convert.get_vega_embed_version()}"
    return vl_convert.javascript_bundle(_EXPORTS), _LICENCES.format(versions=versions)


_LICENCES = """\
The charts of this file are drawn by {versions}, whose text it carries.

Copyright (c) 2015-2025, University of Washington Interactive Data Lab and contributors
All rights reserved.

Redistribution and use in source and binary forms, with or without modification, are permitted \
provided that the following conditions are met:

1. Redistributions of source code must retain the above copyright notice, this list of conditions \
and the following disclaimer.

2. Redistributions in binary form must reproduce the above copyright notice, this list of \
conditions and the following disclaimer in the documentation and/or other materials provided with \
the distribution.

3. Neither the name of the copyright holder nor the names of its contributors may be used to \
endorse or promote products derived from this software without specific prior written permission.

THIS SOFTWARE IS PROVIDED BY THE COPYRIGHT HOLDERS AND CONTRIBUTORS "AS IS" AND ANY EXPRESS OR \
IMPLIED WARRANTIES, INCLUDING, BUT NOT LIMITED TO, THE IMPLIED WARRANTIES OF MERCHANTABILITY AND \
FITNESS FOR A PARTICULAR PURPOSE ARE DISCLAIMED. IN NO EVENT SHALL THE COPYRIGHT HOLDER OR \
CONTRIBUTORS BE LIABLE FOR ANY DIRECT, INDIRECT, INCIDENTAL, SPECIAL, EXEMPLARY, OR CONSEQUENTIAL \
DAMAGES (INCLUDING, BUT NOT LIMITED TO, PROCUREMENT OF SUBSTITUTE GOODS OR SERVICES; LOSS OF USE, \
DATA, OR PROFITS; OR BUSINESS INTERRUPTION) HOWEVER CAUSED AND ON ANY THEORY OF LIABILITY, WHETHER \
IN CONTRACT, STRICT LIABILITY, OR TORT (INCLUDING NEGLIGENCE OR OTHERWISE) ARISING IN ANY WAY OUT \
OF THE USE OF THIS SOFTWARE, EVEN IF ADVISED OF THE POSSIBILITY OF SUCH DAMAGE.

They contain parts of D3 (ISC, Copyright 2010-2023 Mike Bostock), TopoJSON (ISC, Mike Bostock), \
fast-json-patch (MIT, Joachim Wester), json-stringify-pretty-compact (MIT, Simon Lydell), \
semver (ISC, Isaac Z. Schlueter and contributors) and lodash.debounce (MIT, OpenJS Foundation and \
contributors). The packaging is vl-convert (BSD-3-Clause, Jon Mease).
"""
