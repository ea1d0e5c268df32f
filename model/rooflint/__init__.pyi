from pytest_rooflint.api import audit as audit
from pytest_rooflint.api import check as check
from rooflint.api.devices import Device as Device
from rooflint.api.devices import Quantity as Quantity
from rooflint.api.devices import device as device
from rooflint.api.devices import devices as devices
from rooflint.api.exploration import Exploration as Exploration
from rooflint.api.exploration import explore as explore
from rooflint.api.generation import Generations as Generations
from rooflint.api.generation import generate as generate
from rooflint.api.kernels import kernel as kernel
from rooflint.api.predictions import Columns as Columns
from rooflint.api.predictions import Comparison as Comparison
from rooflint.api.predictions import Prediction as Prediction
from rooflint.api.predictions import compare as compare
from rooflint.api.predictions import network as network
from rooflint.api.predictions import networks as networks
from rooflint.api.predictions import predict as predict
from rooflint.api.training import TrainingStep as TrainingStep
from rooflint.api.training import train as train
from rooflint.base.errors import RooflintError as RooflintError
from rooflint.base.shards import Workers as Workers

__version__: str
