"""The shape of specs/silicon_ops.yaml: constants of streams, of attention and of FP8, and what they were fitted on."""

from typing import Annotated

from pydantic import Field

from rooflint.schema import SourcedSpec, Word
from rooflint.silicon_schema import SiliconConstantSpec, SiliconFitSpec

Constants = Annotated[dict[Word, SiliconConstantSpec], Field(min_length=1)]


class SiliconOpsSpec(SourcedSpec):
    """specs/silicon_ops.yaml: constants of latencies on a GPU beyond those of a matrix product."""

    fit: SiliconFitSpec
    stream: Constants
    prefill: Constants
    decode: Constants
    quantised: Constants
