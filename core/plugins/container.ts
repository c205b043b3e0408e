import 'reflect-metadata';
import {
  type ClassProvider,
  type DependencyContainer,
  injectable,
  inject as injectToken,
  Lifecycle,
  container as processContainer,
} from 'tsyringe';

/** A name for a service that carries the service's type. */
export type Token<Service> = symbol & { readonly service?: Service };

export function createToken<Service>(description: string): Token<Service> {
  return Symbol(description);
}

type Constructor<Instance = object> = new (...parameters: never[]) => Instance;

/** Where a service goes into a constructor. A token of another type than the parameter's does not compile. */
export function inject<Service>(token: Token<Service>) {
  return <Target extends Constructor, Index extends number>(
    target: Target,
    _member: undefined,
    index: Service extends ConstructorParameters<Target>[Index] ? Index : never,
  ): void => injectToken(token)(target, undefined, index);
}

export { injectable };

/** Services of one plugin entry: what the root has, and its own instance of each scoped class. */
export interface EntryScope {
  provide<Service>(token: Token<Service>, service: Service): void;
  get<Service>(token: Token<Service>): Service;
  dispose(): Promise<void>;
}

/** Services of one gateway. Never the process-wide container: two gateways in a process share nothing. */
export interface RootScope {
  provide<Service>(token: Token<Service>, service: Service): void;
  /** A class that every entry gets an instance of its own of. All of these come before the first `createEntry`. */
  provideScoped<Service>(token: Token<Service>, implementation: Constructor<Service & object>): void;
  get<Service>(token: Token<Service>): Service;
  createEntry(): EntryScope;
}

/** The only place where a container is made or asked. */
export function createRootScope(): RootScope {
  const root = processContainer.createChildContainer();
  return {
    provide: (token, service) => void root.register(token, { useValue: service }),
    provideScoped: (token, implementation) =>
      void root.register(token, { useClass: implementation } as ClassProvider<unknown>, {
        lifecycle: Lifecycle.ContainerScoped,
      }),
    get: <Service>(token: Token<Service>) => root.resolve<Service>(token),
    createEntry: () => createEntryScope(root.createChildContainer()),
  };
}

function createEntryScope(child: DependencyContainer): EntryScope {
  return {
    provide: (token, service) => void child.register(token, { useValue: service }),
    get: <Service>(token: Token<Service>) => child.resolve<Service>(token),
    dispose: async () => child.dispose(),
  };
}
